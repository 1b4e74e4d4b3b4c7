/// A board file in the old form, in which a board had one receiver, `gps`, and one inertial sensor, `imu`.
public enum OldBoardFile {
  static let keys = ["gps", "imu"]

  private struct Edit {
    var range: Range<Int>
    var text: [UInt8]
  }

  /// The file, converted to the present form.
  public static func converted(file: String) throws(BoardError) -> [UInt8] {
    try converted(json5: Board.bytes(of: file), file: file)
  }

  /// The file, converted to the present form with its comments. Parts in the present form stay unchanged.
  public static func converted(json5 bytes: [UInt8], file: String) throws(BoardError) -> [UInt8] {
    let document: JSONValue
    do throws(JSON5Parser.Failure) {
      document = try JSON5Parser.parse(bytes)
    } catch {
      throw .syntax(file: file, line: error.line, reason: error.reason)
    }
    guard case .object(let members) = document.content else { return bytes }
    let old = members.filter { keys.contains($0.key) }
    guard let first = old.first else { return bytes }
    if let devices = members.first(where: { $0.key == "devices" }) {
      throw .wrongValue(
        file: file, line: devices.value.line, keyPath: first.key,
        expected: "moved into 'devices' by hand, as the file has both")
    }
    let indentation = indentation(before: first.range.lowerBound, in: bytes)
    let inner = old.flatMap { lines(of: device($0, in: bytes), after: indentation) + Array(",\n".utf8) }
    let devices = Array("devices: {\n".utf8) + inner + indentation + Array("}".utf8)
    var edits = [Edit(range: first.range, text: devices)]
    for member in old.dropFirst() { edits.append(Edit(range: extended(member, in: bytes), text: [])) }
    let result = edits.reversed().reduce(into: bytes) { $0.replaceSubrange($1.range, with: $1.text) }
    do throws(JSON5Parser.Failure) {
      _ = try JSON5Parser.parse(result)
      return result
    } catch {
      throw .wrongValue(
        file: file, line: first.value.line, keyPath: first.key,
        expected: "moved into 'devices' by hand: its form is unusual")
    }
  }

  /// The text of a device in the present form. The receiver gets the key `driver` with the value `nmea`. The IMU's key
  /// `chip` becomes `driver`.
  private static func device(_ member: JSONValue.Member, in bytes: [UInt8]) -> [UInt8] {
    var text = Array(bytes[member.range])
    guard case .object(let members) = member.value.content else { return text }
    if member.key == "gps" {
      let inside = member.valueRange.lowerBound + 1 - member.range.lowerBound
      // The driver gets its own line if the other members have one.
      let space = text[inside...].prefix { [0x0A, 0x20, 0x09, 0x0D].contains($0) }
      let before = space.contains(UInt8(ascii: "\n")) ? Array(space) : [UInt8(ascii: " ")]
      text.insert(contentsOf: before + Array("driver: \"nmea\",".utf8), at: inside)
    } else if let chip = members.first(where: { $0.key == "chip" }) {
      let start = chip.keyRange.lowerBound - member.range.lowerBound
      text.replaceSubrange(start..<start + chip.keyRange.count, with: Array("driver".utf8))
    }
    return text
  }

  /// Indents each line by two more spaces. The first line also gets the indentation that its text lacks.
  private static func lines(of text: [UInt8], after indentation: [UInt8]) -> [UInt8] {
    let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let further = Array("  ".utf8)
    return Array(
      lines.enumerated().map { index, line in
        line.isEmpty ? [] : further + (index == 0 ? indentation : []) + Array(line)
      }.joined(separator: [UInt8(ascii: "\n")]))
  }

  private static func indentation(before offset: Int, in bytes: [UInt8]) -> [UInt8] {
    let start = bytes[..<offset].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return Array(bytes[start..<offset].prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") })
  }

  /// The range to remove with a member: its text, the comma and the spaces after it, and its line if nothing else is on
  /// it.
  private static func extended(_ member: JSONValue.Member, in bytes: [UInt8]) -> Range<Int> {
    var end = member.end
    while end < bytes.count, bytes[end] == UInt8(ascii: " ") { end += 1 }
    var start = member.range.lowerBound
    while start > 0, bytes[start - 1] == UInt8(ascii: " ") { start -= 1 }
    if end < bytes.count, bytes[end] == UInt8(ascii: "\n"), start == 0 || bytes[start - 1] == UInt8(ascii: "\n") {
      return start..<end + 1
    }
    return member.range.lowerBound..<end
  }
}
