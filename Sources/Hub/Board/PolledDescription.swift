import Devices
import HardwareIO

/// A sensor that is asked for one measurement at a time, and how it sits in the body.
public struct PolledDescription<Sample: Sendable>: Equatable, Sendable {
  /// The name that the board file gives it.
  public var id: String
  public var place: I2CPlace
  public var chip: Chip<any PolledDriver<Sample>, PolledConfiguration>
  public var configuration: PolledConfiguration
  public var power: Board.Power
  public var mount: MountMatrix
  /// What has been calibrated of this chip; not from the board file.
  public var calibration = ChipCalibration()

  /// The rate that the chip makes of the wish.
  public var rateHz: Double { chip.rate(nearest: configuration.rateHz) }

  /// Whether it is read in the same way, however it sits and whatever has been calibrated.
  func isRead(like other: PolledDescription) -> Bool {
    (id, place, power, chip, configuration) == (other.id, other.place, other.power, other.chip, other.configuration)
  }
}

public typealias MagnetometerDescription = PolledDescription<MagnetometerSample>
public typealias BarometerDescription = PolledDescription<BarometerSample>

extension PolledDescription {
  /// - Parameters:
  ///   - usualRateHz: where the file says nothing
  ///   - hasAxes: whether it matters how it sits
  init(
    _ id: String, _ chip: Chip<any PolledDriver<Sample>, PolledConfiguration>, usualRateHz: Double, hasAxes: Bool,
    _ section: BoardSection
  ) throws(BoardError) {
    var section = section
    self.id = id
    self.chip = chip
    place = try I2CPlace(&section, addresses: chip.addresses)
    configuration = PolledConfiguration(rateHz: try section.number("rateHz", in: chip.ratesHz) ?? usualRateHz)
    mount = hasAxes ? try section.rotation("mount") ?? .identity : .identity
    power = try Board.Power(
      section.section("power"), typicalMilliamperes: chip.milliamperes, standbyMilliamperes: chip.sleepMilliamperes)
    try section.finish()
  }
}
