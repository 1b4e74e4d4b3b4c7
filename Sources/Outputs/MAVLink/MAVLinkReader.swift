/// Finds the frames of HEARTBEAT and TIMESYNC in received bytes, of MAVLink 1 and 2. It skips all other frames by their
/// length, without checking them. Signatures are not checked either.
struct MAVLinkReader {
  struct Frame: Equatable {
    var kind: MAVLinkMessage.Kind
    var system: UInt8
    var component: UInt8
    /// The payload, with the zeros that its sender left out.
    var payload: [UInt8]
  }

  private static let magicOfVersion1: UInt8 = 0xFE
  private static let signatureSize = 13
  /// The size of the longest payload that the hub reads: TIMESYNC with its extensions.
  private static let longestPayload = 18

  private let isStream: Bool
  /// The beginning of a frame. It is shorter than the longest frame, 280 bytes.
  private var waiting: [UInt8] = []
  /// The number of frames with a wrong checksum or an unknown flag, and of groups of bytes that belong to no frame.
  private(set) var refusedCount = 0

  /// - Parameter isStream: whether a frame may begin in one piece and end in the next one; a datagram has whole frames
  init(isStream: Bool) { self.isStream = isStream }

  mutating func read(_ bytes: some Collection<UInt8>) -> [Frame] {
    waiting += bytes
    var frames: [Frame] = []
    var start = 0
    var isNoise = false
    while start < waiting.count {
      let first = waiting[start]
      guard first == MAVLinkMessage.magic || first == MAVLinkReader.magicOfVersion1 else {
        if !isNoise { refusedCount += 1 }
        isNoise = true
        start += 1
        continue
      }
      isNoise = false
      guard let end = end(of: start), end <= waiting.count else { break }
      if let frame = frame(start, end) { frames.append(frame) }
      start = end
    }
    waiting.removeSubrange(..<start)
    if !isStream, !waiting.isEmpty {
      refusedCount += 1
      waiting = []
    }
    return frames
  }

  /// Where a frame ends; `nil` if its length has not arrived yet.
  private func end(of start: Int) -> Int? {
    guard start + 2 < waiting.count else { return nil }
    let payload = Int(waiting[start + 1])
    guard waiting[start] == MAVLinkMessage.magic else { return start + 6 + payload + 2 }
    let isSigned = waiting[start + 2] & 1 != 0
    return start + MAVLinkMessage.headerSize + payload + 2 + (isSigned ? MAVLinkReader.signatureSize : 0)
  }

  /// The frame in a range of bytes; `nil` if the hub does not read frames of this kind, or if the frame is wrong.
  private mutating func frame(_ start: Int, _ end: Int) -> Frame? {
    let isVersion2 = waiting[start] == MAVLinkMessage.magic
    let head = start + (isVersion2 ? MAVLinkMessage.headerSize : 6)
    let payload = head..<head + Int(waiting[start + 1])
    let place = isVersion2 ? start + 5 : start + 3
    let number = (place + 2..<head).reversed().reduce(0) { $0 << 8 | Int(waiting[$1]) }
    guard let kind = MAVLinkMessage.Kind(rawValue: number), kind == .heartbeat || kind == .timeSync else { return nil }
    // The protocol forbids reading a frame with an unknown flag. The hub knows one flag: the frame is signed.
    let isKnown = !isVersion2 || waiting[start + 2] & ~1 == 0
    let sum = MAVLinkMessage.checksum(waiting[start + 1..<payload.upperBound], seed: kind.checksumSeed)
    let stated = UInt16(waiting[payload.upperBound]) | UInt16(waiting[payload.upperBound + 1]) << 8
    guard isKnown, sum == stated else {
      refusedCount += 1
      return nil
    }
    var bytes = Array(waiting[payload].prefix(MAVLinkReader.longestPayload))
    bytes += [UInt8](repeating: 0, count: MAVLinkReader.longestPayload - bytes.count)
    return Frame(kind: kind, system: waiting[place], component: waiting[place + 1], payload: bytes)
  }
}
