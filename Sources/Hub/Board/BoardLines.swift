/// The line of each key in a board file.
public struct BoardLines {
  private let root: JSONValue

  /// `nil` if the text is not JSON5.
  public init?(json5 bytes: [UInt8]) {
    guard let root = try? JSON5Parser.parse(bytes) else { return nil }
    self.root = root
  }

  /// `nil` if the file cannot be read, or is not JSON5.
  public init?(file: String) {
    guard let bytes = try? Board.bytes(of: file) else { return nil }
    self.init(json5: bytes)
  }

  /// The line of a key, or of its nearest existing parent, for example of `nmea` for `nmea[1].port`.
  public func line(of path: String) -> Int { BoardLines.line(of: path[...], in: root) }

  private static func line(of path: Substring, in value: JSONValue) -> Int {
    if path.first == "[", case .array(let elements) = value.content {
      let (number, rest) = (path.dropFirst().prefix { $0 != "]" }, path.drop { $0 != "]" }.dropFirst())
      guard let index = Int(number), elements.indices.contains(index) else { return value.line }
      return line(of: rest, in: elements[index])
    }
    let path = path.first == "." ? path.dropFirst() : path
    guard !path.isEmpty, case .object(let members) = value.content else { return value.line }
    // A key may contain dots, so several keys may match. The longest one counts.
    let fitting = members.filter { member in
      guard path.hasPrefix(member.key) else { return false }
      let next = path.dropFirst(member.key.count).first
      return next == nil || next == "." || next == "["
    }
    guard let member = fitting.max(by: { $0.key.count < $1.key.count }) else { return value.line }
    return line(of: path.dropFirst(member.key.count), in: member.value)
  }
}
