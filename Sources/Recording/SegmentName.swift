/// The names of segments, from their beginning: `sensorhub-20261122T211439Z-001.mcap`. Sorted by name, the oldest
/// segment is first.
enum SegmentName {
  /// - Parameter number: the number of the segment in its recording
  static func make(nanosecondsSince1970: Int64, number: Int) -> String {
    "sensorhub-\(UTCStamp(nanosecondsSince1970: nanosecondsSince1970).basic)-\(UTCStamp.padded(number, to: 3)).mcap"
  }

  /// A name that is sorted after another one. If the clock is behind, the newest segment must not become the first,
  /// because the first is removed first.
  static func make(nanosecondsSince1970: Int64, number: Int, after newest: String?) -> String {
    let name = make(nanosecondsSince1970: nanosecondsSince1970, number: number)
    guard let newest, name <= newest, let end = newest.lastIndex(of: "-") else { return name }
    let digits = newest[newest.index(after: end)...].prefix { $0.isNumber }
    // The successor of 999 is 9990, because names are sorted by character.
    let isFull = digits.allSatisfy { $0 == "9" }
    let next = isFull ? digits + "0" : Substring(UTCStamp.padded((Int(digits) ?? 0) + 1, to: digits.count))
    return "\(newest[...end])\(next).mcap"
  }

  /// Whether a file is a segment of a hub. The check is strict, because such files are removed to make room.
  static func isOne(_ name: String) -> Bool {
    let parts = name.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].elementsEqual("sensorhub".utf8), parts[2].suffix(5).elementsEqual(".mcap".utf8)
    else { return false }
    let stamp = Array(parts[1])
    let number = parts[2].dropLast(5)
    func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    return stamp.count == 16 && stamp[..<8].allSatisfy(isDigit) && stamp[8] == UInt8(ascii: "T")
      && stamp[9..<15].allSatisfy(isDigit) && stamp[15] == UInt8(ascii: "Z") && number.count >= 3
      && number.allSatisfy(isDigit)
  }
}
