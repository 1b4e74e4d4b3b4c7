/// The bytes of a file that a request wants (RFC 9110, section 14.1.2): one range, the form that browsers use.
struct ByteRange: Equatable {
  let first: UInt64
  /// The last byte, inclusive; `nil` for the end of the file.
  let last: UInt64?
  /// Whether the range counts from the end of the file. Then `first` is the number of bytes.
  let isSuffix: Bool

  /// - Parameter field: `bytes=0-16383`, `bytes=100-` or `bytes=-100`
  /// - Returns: `nil` for anything else, including several ranges
  init?(_ field: String) {
    let unit = "bytes="
    guard field.lowercased().hasPrefix(unit) else { return nil }
    let ends = field.utf8.dropFirst(unit.utf8.count)
      .split(separator: UInt8(ascii: "-"), maxSplits: 1, omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    let (start, end) = (ByteRange.number(ends[0]), ByteRange.number(ends[1]))
    if let start, ends[1].isEmpty || end != nil {
      if let end, end < start { return nil }
      (first, last, isSuffix) = (start, end, false)
    } else if ends[0].isEmpty, let end, end > 0 {
      (first, last, isSuffix) = (end, nil, true)
    } else {
      return nil
    }
  }

  /// The bytes of a file of this size, at most `limit`; `nil` if the file has none of them.
  func bytes(of size: UInt64, limit: UInt64) -> Range<UInt64>? {
    let start = isSuffix ? size - min(first, size) : first
    guard start < size else { return nil }
    let end = last.map { min($0, size - 1) + 1 } ?? size
    return start..<min(end, start + limit)
  }

  private static func number(_ digits: Substring.UTF8View) -> UInt64? {
    let figures = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard !digits.isEmpty, digits.count <= 18, digits.allSatisfy({ figures.contains($0) }) else { return nil }
    return UInt64(String(decoding: digits, as: UTF8.self))
  }
}
