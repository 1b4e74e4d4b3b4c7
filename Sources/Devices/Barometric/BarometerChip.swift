import MonotonicTime

public typealias BarometerChip = Chip<any PolledDriver<BarometerSample>, PolledConfiguration>

extension BarometerChip {
  /// All barometers, the commonest first. Chips with a weak identity come last: the register with a BMP390's sensor
  /// time may look like the identity of a DPS310, and the identity of an MS5611 has only four bits.
  public static var all: [BarometerChip] { [.bmp280, .bme280, .bmp390, .bmp388, .dps310, .lps22hb, .ms5611] }
}

/// One reading of a barometer.
public struct BarometerSample: Equatable, Sendable {
  /// The plausible pressures in Pa, from the highest flight to the deepest mine. A chip that reports a pressure
  /// outside this range is not measuring.
  static let pressures: ClosedRange<Double> = 1000...125_000

  public var at: MonotonicInstant
  /// The pressure of the air, Pa.
  public var pressurePascals: Double
  /// The temperature of the chip, which is slightly warmer than the air, degrees Celsius.
  public var temperatureCelsius: Double
  /// The relative humidity, 0 to 100; `nil` if the chip does not measure it.
  public var humidityPercent: Double?

  public init(
    at: MonotonicInstant, pressurePascals: Double, temperatureCelsius: Double, humidityPercent: Double? = nil
  ) {
    self.at = at
    self.pressurePascals = pressurePascals
    self.temperatureCelsius = temperatureCelsius
    self.humidityPercent = humidityPercent
  }

  /// A chip's measurement; `nil` if it is not plausible.
  init?(
    goodAt at: MonotonicInstant, pressurePascals: Double, temperatureCelsius: Double, humidityPercent: Double? = nil
  ) {
    guard BarometerSample.pressures.contains(pressurePascals) else { return nil }
    self.init(
      at: at, pressurePascals: pressurePascals, temperatureCelsius: temperatureCelsius,
      humidityPercent: humidityPercent)
  }
}
