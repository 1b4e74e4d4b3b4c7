/// Water temperature.
public struct MTW: Equatable, Sendable {
  public var temperatureCelsius: Double?

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 2 else { return nil }
    let temperature = fields.number()
    temperatureCelsius = fields.character() == Byte.C ? temperature : nil
  }
}
