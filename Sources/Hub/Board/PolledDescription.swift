import Devices
import HardwareIO

/// A sensor that is read one measurement at a time: its connection, its chip, its settings, its power, its placement on
/// the board and its calibration.
public struct PolledDescription<Sample: PlacedSample>: Equatable, Sendable {
  /// The device's name in the board file.
  public var id: String
  public var place: I2CAddress
  public var chip: Chip<any PolledDriver<Sample>, PolledConfiguration>
  public var configuration: PolledConfiguration
  public var power: Board.Power
  public var placement: Sample.Placement
  /// The calibration of this chip, from the chip's own file and not from the board file.
  public var calibration = ChipCalibration()

  /// The chip's rate that is nearest to the requested one.
  public var rateHz: Double { chip.rate(nearest: configuration.rateHz) }

  /// Whether both descriptions read the sensor in the same way; mounting and calibration may differ.
  func isRead(like other: PolledDescription) -> Bool {
    (id, place, power.ofReader, chip, configuration)
      == (other.id, other.place, other.power.ofReader, other.chip, other.configuration)
      && Sample.warnsAlike(placement, other.placement)
  }
}

public typealias MagnetometerDescription = PolledDescription<MagnetometerSample>
public typealias BarometerDescription = PolledDescription<BarometerSample>
public typealias SupplyMonitorDescription = PolledDescription<SupplySample>

extension PolledDescription {
  /// - Parameters:
  ///   - usualRateHz: the default rate
  ///   - placement: reads the section's keys for the mounting
  init(
    _ id: String, _ chip: Chip<any PolledDriver<Sample>, PolledConfiguration>, usualRateHz: Double,
    _ section: BoardSection, placement: (inout BoardSection) throws(BoardError) -> Sample.Placement
  ) throws(BoardError) {
    var section = section
    self.id = id
    self.chip = chip
    place = try I2CAddress(&section, addresses: chip.addresses)
    configuration = PolledConfiguration(rateHz: try section.number("rateHz", in: chip.ratesHz) ?? usualRateHz)
    self.placement = try placement(&section)
    power = try Board.Power(
      section.section("power"), typicalMilliamperes: chip.milliamperes, standbyMilliamperes: chip.sleepMilliamperes)
    try section.finish()
  }
}

/// A sample whose meaning depends on the sensor's placement on the board.
public protocol PlacedSample: Sendable {
  associatedtype Placement: Equatable, Sendable

  /// A warning for the board's owner because of this sample; `nil` for none.
  ///
  /// - Parameter before: the warning of the previous sample
  func warning(_ placement: Placement, before: String?) -> String?

  /// Whether a sensor in this placement can give warnings.
  static func warns(_ placement: Placement) -> Bool

  /// Whether equal samples give equal warnings in both placements.
  static func warnsAlike(_ one: Placement, _ other: Placement) -> Bool
}

extension PlacedSample {
  public func warning(_ placement: Placement, before: String?) -> String? { nil }

  public static func warns(_ placement: Placement) -> Bool { false }

  public static func warnsAlike(_ one: Placement, _ other: Placement) -> Bool { true }
}

extension MagnetometerSample: PlacedSample {
  /// The rotation from the sensor's axes to the body's.
  public typealias Placement = MountMatrix
}

extension BarometerSample: PlacedSample {
  /// A barometer has no settings for its placement, because its orientation does not matter.
  public struct Placement: Equatable, Sendable {}
}

extension SupplySample: PlacedSample {
  /// The resistor in the measured line, and the limit of the supply.
  public struct Placement: Equatable, Sendable {
    public var shuntOhms: Double
    /// The voltage below which the supply is low; `nil` for no limit.
    public var lowVolts: Double?

    public init(shuntOhms: Double, lowVolts: Double? = nil) {
      self.shuntOhms = shuntOhms
      self.lowVolts = lowVolts
    }
  }

  /// A low supply counts as recovered above this multiple of the limit, because each load lowers the voltage a little.
  private static let recovery = 1.02

  public func warning(_ placement: Placement, before: String?) -> String? {
    guard let low = placement.lowVolts, volts < (before == nil ? low : low * SupplySample.recovery) else { return nil }
    let rounded = (volts * 100).rounded() / 100
    return before ?? "the supply is low, \(rounded) V of at least \(low) V: charge the battery, or switch loads off"
  }

  public static func warns(_ placement: Placement) -> Bool { placement.lowVolts != nil }

  public static func warnsAlike(_ one: Placement, _ other: Placement) -> Bool { one.lowVolts == other.lowVolts }

  /// The current through a resistor in the measured line; positive if it flows to the load.
  func amperes(throughOhms ohms: Double) -> Double { shuntVolts / ohms }
}

extension PolledDescription<SupplySample> {
  /// The current; positive if it flows to the load.
  public func amperes(_ sample: SupplySample) -> Double { sample.amperes(throughOhms: placement.shuntOhms) }
}
