/// Skytraq's diagnostic sentence, which has no checksum.
public struct STI: Equatable, Sendable {
  /// Whether the firmware reports an internal error (`IC`).
  public var isError: Bool

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 1 else { return nil }
    isError = fields.bytes().spells("IC")
  }
}
