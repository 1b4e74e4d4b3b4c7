/// A message from the receiver to its user, such as its firmware at start.
public struct TXT: Equatable, Sendable {
  public var severity: Severity
  /// The first 80 bytes of the text.
  public var text: InlineArray<80, UInt8>
  public var textLength: Int

  public enum Severity: Sendable { case error, warning, notice, user, unknown }

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 4 else { return nil }
    fields.skip(2)
    severity =
      switch fields.integer() {
      case 0: .error
      case 1: .warning
      case 2: .notice
      case 7: .user
      default: .unknown
      }
    text = InlineArray(repeating: 0)
    let bytes = fields.bytes()
    textLength = min(bytes.count, 80)
    for index in 0..<textLength { text[index] = bytes[index] }
  }

  public static func == (lhs: TXT, rhs: TXT) -> Bool {
    lhs.severity == rhs.severity && lhs.textLength == rhs.textLength
      && (0..<lhs.textLength).allSatisfy { lhs.text[$0] == rhs.text[$0] }
  }
}
