import Devices
import HardwareIO

/// A sensor that is asked for one measurement at a time, and how it sits on the board.
public struct PolledDescription<Sample: PlacedSample>: Equatable, Sendable {
  /// The name that the board file gives it.
  public var id: String
  public var place: I2CPlace
  public var chip: Chip<any PolledDriver<Sample>, PolledConfiguration>
  public var configuration: PolledConfiguration
  public var power: Board.Power
  public var placement: Sample.Placement
  /// What has been calibrated of this chip; not from the board file.
  public var calibration = ChipCalibration()

  /// The rate that the chip makes of the wish.
  public var rateHz: Double { chip.rate(nearest: configuration.rateHz) }

  /// Whether it is read in the same way, however it sits and whatever has been calibrated.
  func isRead(like other: PolledDescription) -> Bool {
    (id, place, power.ofReader, chip, configuration)
      == (other.id, other.place, other.power.ofReader, other.chip, other.configuration)
  }
}

public typealias MagnetometerDescription = PolledDescription<MagnetometerSample>
public typealias BarometerDescription = PolledDescription<BarometerSample>
public typealias SupplyMonitorDescription = PolledDescription<SupplySample>

extension PolledDescription {
  /// - Parameters:
  ///   - usualRateHz: where the file says nothing
  ///   - placement: takes from the section what it says of that
  init(
    _ id: String, _ chip: Chip<any PolledDriver<Sample>, PolledConfiguration>, usualRateHz: Double,
    _ section: BoardSection, placement: (inout BoardSection) throws(BoardError) -> Sample.Placement
  ) throws(BoardError) {
    var section = section
    self.id = id
    self.chip = chip
    place = try I2CPlace(&section, addresses: chip.addresses)
    configuration = PolledConfiguration(rateHz: try section.number("rateHz", in: chip.ratesHz) ?? usualRateHz)
    self.placement = try placement(&section)
    power = try Board.Power(
      section.section("power"), typicalMilliamperes: chip.milliamperes, standbyMilliamperes: chip.sleepMilliamperes)
    try section.finish()
  }
}

/// What a sensor measures means what it does by how the sensor sits on the board.
public protocol PlacedSample: Sendable {
  associatedtype Placement: Equatable, Sendable
}

extension MagnetometerSample: PlacedSample {
  /// From its axes to the body's.
  public typealias Placement = MountMatrix
}

extension BarometerSample: PlacedSample {
  /// It is the same whichever way it sits.
  public struct Placement: Equatable, Sendable {}
}

extension SupplySample: PlacedSample {
  /// The resistor through which what is measured flows.
  public struct Placement: Equatable, Sendable {
    public var shuntOhms: Double
  }
}

extension PolledDescription<SupplySample> {
  /// Positive where the current flows to the load.
  func amperes(_ sample: SupplySample) -> Double { sample.shuntVolts / placement.shuntOhms }
}
