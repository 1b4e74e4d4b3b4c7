/// Range residuals of the satellites in the fix, in the order of GSA.
public struct GRS: Equatable, Sendable {
  public var time: TimeOfDay?
  /// Whether the residuals were recomputed after the position, and not used to compute it.
  public var isRecomputed: Bool
  /// The residuals in metres; NaN for an empty field.
  public var residualsMetres: InlineArray<12, Float>

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 3 else { return nil }
    time = fields.timeOfDay()
    isRecomputed = fields.integer() == 1
    residualsMetres = InlineArray(repeating: .nan)
    for index in 0..<min(fields.remaining, 12) { residualsMetres[index] = fields.number().map { Float($0) } ?? .nan }
  }

  public static func == (lhs: GRS, rhs: GRS) -> Bool {
    lhs.time == rhs.time && lhs.isRecomputed == rhs.isRecomputed
      && (0..<12).allSatisfy {
        lhs.residualsMetres[$0] == rhs.residualsMetres[$0]
          || (lhs.residualsMetres[$0].isNaN && rhs.residualsMetres[$0].isNaN)
      }
  }
}
