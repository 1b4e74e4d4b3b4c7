import MonotonicTime

/// One reading of a barometer.
public struct BarometerSample: Equatable, Sendable {
  /// The range between the deepest mine and the highest flight; a chip that states another pressure is not measuring.
  static let pressures: ClosedRange<Double> = 1000...125_000

  public var at: MonotonicInstant
  /// Of the air, Pa.
  public var pressurePascals: Double
  /// Of the chip, which is a little warmer than the air, degrees Celsius.
  public var temperatureCelsius: Double
  /// Relative, 0 to 100; `nil` where the chip does not measure it.
  public var humidityPercent: Double?

  public init(
    at: MonotonicInstant, pressurePascals: Double, temperatureCelsius: Double, humidityPercent: Double? = nil
  ) {
    self.at = at
    self.pressurePascals = pressurePascals
    self.temperatureCelsius = temperatureCelsius
    self.humidityPercent = humidityPercent
  }

  /// A measurement of a chip, or `nil` if it cannot be one.
  init?(
    goodAt at: MonotonicInstant, pressurePascals: Double, temperatureCelsius: Double, humidityPercent: Double? = nil
  ) {
    guard BarometerSample.pressures.contains(pressurePascals) else { return nil }
    self.init(
      at: at, pressurePascals: pressurePascals, temperatureCelsius: temperatureCelsius,
      humidityPercent: humidityPercent)
  }
}
