/// PGRME: estimated position errors. Garmin does not define them; they are generally assumed to contain half of the
/// positions (circular error probable).
public struct GarminErrorEstimate: Equatable, Sendable {
  public var horizontalMetres: Double?
  public var verticalMetres: Double?
  public var sphericalMetres: Double?

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 6 else { return nil }
    horizontalMetres = fields.metres()
    verticalMetres = fields.metres()
    sphericalMetres = fields.metres()
  }
}
