import UBX

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

  /// The status of the antenna, if the text states it; `nil` otherwise. u-blox sends `ANTSTATUS=OPEN` at the start and
  /// after each change (M8 receiver description, "Active antenna supervisor"); CASIC receivers send `ANTENNA OPEN`.
  public var antennaStatus: AntennaStatus? {
    if isText("ANTSTATUS=OPEN") || isText("ANTENNA OPEN") { return .open }
    if isText("ANTSTATUS=SHORT") || isText("ANTENNA SHORT") { return .short }
    if isText("ANTSTATUS=OK") || isText("ANTENNA OK") { return .good }
    return isText("ANTSTATUS=INIT") || isText("ANTSTATUS=DONTKNOW") ? .unknown : nil
  }

  private func isText(_ other: StaticString) -> Bool {
    other.withUTF8Buffer { other in
      other.count == textLength && other.indices.allSatisfy { other[$0] == text[$0] }
    }
  }

  public static func == (lhs: TXT, rhs: TXT) -> Bool {
    lhs.severity == rhs.severity && lhs.textLength == rhs.textLength
      && (0..<lhs.textLength).allSatisfy { lhs.text[$0] == rhs.text[$0] }
  }
}
