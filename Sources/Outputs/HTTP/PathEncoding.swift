/// Normalizes paths, so that they can be compared.
enum PathEncoding {
  /// A request's target without unnecessary encoding in its path (RFC 3986, section 6.2.2.2). Necessary encoding stays:
  /// an encoded slash, `%2F`, does not separate parts.
  static func normalized(_ target: String) -> String {
    let end = target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
    guard target[..<end].utf8.contains(UInt8(ascii: "%")) else { return target }
    return String(decoding: decode(target[..<end], where: isUnreserved), as: UTF8.self) + target[end...]
  }

  /// One part of a path, decoded.
  static func decoded(_ part: String) -> String { String(decoding: decode(part[...]) { _ in true }, as: UTF8.self) }

  private static func decode(_ text: Substring, where isWanted: (UInt8) -> Bool) -> [UInt8] {
    let bytes = Array(text.utf8)
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = digit(bytes[index + 1]),
        let low = digit(bytes[index + 2]), isWanted(high << 4 | low)
      {
        decoded.append(high << 4 | low)
        index += 3
      } else {
        decoded.append(bytes[index])
        index += 1
      }
    }
    return decoded
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }
}
