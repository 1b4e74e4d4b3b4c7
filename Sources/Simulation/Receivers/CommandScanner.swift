/// A command received over the line.
struct ReceivedCommand: Sendable {
  enum Form: Sendable {
    case ubx
    case casic
    case sentence
    /// Words without a frame, up to the end of the line.
    case line
    case rtcm
  }

  let form: Form
  let name: CommandName
  /// The payload of a frame. For a sentence or a line, this is the text without dollar sign and checksum.
  let payload: [UInt8]
  /// The fields of a sentence after the first one.
  let fields: [String]
}

/// Finds commands in the bytes from a host: UBX, CASIC, sentences and RTCM corrections, in any mixture. Input with a
/// wrong checksum is ignored.
struct CommandScanner: Sendable {
  private static let longestSentence = 256
  private static let longestPayload = 2048

  /// Whether lines of words are commands.
  var takesLines = false
  private var bytes: [UInt8] = []

  mutating func clear() { bytes = [] }

  mutating func scan(_ more: [UInt8]) -> [ReceivedCommand] {
    bytes += more
    var found: [ReceivedCommand] = []
    var start = 0
    scanning: while start < bytes.count {
      switch read(bytes[start...]) {
      case .command(let command, let count):
        found.append(command)
        start += count
      case .noise: start += 1
      case .incomplete: break scanning
      }
    }
    bytes.removeFirst(start)
    return found
  }

  private enum Reading {
    case command(ReceivedCommand, Int)
    case noise
    case incomplete
  }

  private func read(_ rest: ArraySlice<UInt8>) -> Reading {
    switch rest.first {
    case 0xB5: binary(Array(rest), second: 0x62)
    case 0xBA: binary(Array(rest), second: 0xCE)
    case UInt8(ascii: "$"): sentence(rest)
    case 0xD3: correction(Array(rest))
    case let byte? where takesLines && (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte & ~0x20): line(rest)
    default: .noise
    }
  }

  private func line(_ rest: ArraySlice<UInt8>) -> Reading {
    guard let end = rest.firstIndex(where: { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }) else {
      return rest.count > CommandScanner.longestSentence ? .noise : .incomplete
    }
    let line = Array(rest[rest.startIndex..<end])
    let words = String(decoding: line, as: UTF8.self).split { $0 == " " || $0 == "," }.map(String.init)
    let command = ReceivedCommand(
      form: .line, name: .text(words[0].uppercased()), payload: line, fields: Array(words.dropFirst()))
    return .command(command, line.count)
  }

  private func binary(_ rest: [UInt8], second: UInt8) -> Reading {
    if rest.count >= 2, rest[1] != second { return .noise }
    guard rest.count >= 6 else { return .incomplete }
    let isUBX = second == 0x62
    let length = isUBX ? Int(rest[4]) | Int(rest[5]) << 8 : Int(rest[2]) | Int(rest[3]) << 8
    guard length <= CommandScanner.longestPayload else { return .noise }
    let count = 6 + length + (isUBX ? 2 : 4)
    guard rest.count >= count else { return .incomplete }
    let payload = Array(rest[6..<(6 + length)])
    let (group, id) = isUBX ? (rest[2], rest[3]) : (rest[4], rest[5])
    let message = BinaryMessage(payload)
    let expected = isUBX ? message.ubx(group, id) : message.casic(group, id)
    guard Array(rest[..<count]) == expected else { return .noise }
    let command = ReceivedCommand(
      form: isUBX ? .ubx : .casic, name: .binary(group, id), payload: payload, fields: [])
    return .command(command, count)
  }

  /// An RTCM frame: `D3`, six zero bits, a length of ten bits, payload, CRC-24Q. The payload begins with the message
  /// number in twelve bits.
  private func correction(_ rest: [UInt8]) -> Reading {
    if rest.count >= 2, rest[1] & 0xFC != 0 { return .noise }
    guard rest.count >= 3 else { return .incomplete }
    let count = 3 + Int(rest[1]) << 8 + Int(rest[2]) + 3
    guard count >= 8 else { return .noise }
    guard rest.count >= count else { return .incomplete }
    // The remainder over the frame including its checksum is zero.
    guard rest[..<count].reduce(UInt32(0), CommandScanner.divided) == 0 else { return .noise }
    let number = UInt16(rest[3]) << 4 | UInt16(rest[4]) >> 4
    let command = ReceivedCommand(
      form: .rtcm, name: .correction(number), payload: Array(rest[3..<(count - 3)]), fields: [])
    return .command(command, count)
  }

  private static func divided(_ remainder: UInt32, by byte: UInt8) -> UInt32 {
    var remainder = remainder ^ UInt32(byte) << 16
    for _ in 0..<8 { remainder = (remainder << 1) ^ (remainder & 0x80_0000 == 0 ? 0 : 0x186_4CFB) }
    return remainder & 0xFF_FFFF
  }

  private func sentence(_ rest: ArraySlice<UInt8>) -> Reading {
    guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else {
      return rest.count > CommandScanner.longestSentence ? .noise : .incomplete
    }
    let line = rest[rest.startIndex..<end].dropFirst().filter { $0 != UInt8(ascii: "\r") }
    let parts = line.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false)
    guard parts.count == 2, UInt8(String(decoding: parts[1], as: UTF8.self), radix: 16) == parts[0].reduce(0, ^)
    else { return .noise }
    let fields = parts[0].split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
    let command = ReceivedCommand(
      form: .sentence, name: .text(fields[0]), payload: Array(parts[0]), fields: Array(fields.dropFirst()))
    return .command(command, end - rest.startIndex + 1)
  }
}
