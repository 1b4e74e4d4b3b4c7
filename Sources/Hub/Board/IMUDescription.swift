import Devices
import HardwareIO

/// An inertial sensor of a board: its connection, its chip, its settings, its power, its orientation in the body and
/// its calibration.
public struct IMUDescription: Equatable, Sendable {
  /// The device's name in the board file.
  public var id: String
  public var place: I2CAddress
  public var chip: InertialChip
  public var configuration: InertialConfiguration
  /// How often per second the FIFO is emptied.
  public var burstRateHz: Double
  public var dataReady: GPIOLineName?
  /// Whether the sensor may wait for motion between scheduled fixes, if its chip and its wiring permit.
  public var wakesOnMotion = true
  public var power: Board.Power
  public var mount: MountMatrix
  /// The calibration of this chip, from the chip's own file and not from the board file.
  public var calibration = ChipCalibration()

  /// The chip's rate that is nearest to the requested one.
  public var rateHz: Double { chip.rate(nearest: configuration.rateHz) }

  /// Whether both descriptions read the sensor in the same way; mounting and calibration may differ.
  func isRead(like other: IMUDescription) -> Bool {
    (id, place, power.ofReader) == (other.id, other.place, other.power.ofReader)
      && (chip, configuration, burstRateHz, dataReady)
        == (other.chip, other.configuration, other.burstRateHz, other.dataReady)
  }
}

extension IMUDescription {
  init(_ id: String, _ chip: InertialChip, _ section: BoardSection) throws(BoardError) {
    var section = section
    self.id = id
    self.chip = chip
    place = try I2CAddress(&section, addresses: chip.addresses)
    configuration = InertialConfiguration(rateHz: try section.number("rateHz", in: chip.ratesHz) ?? 200)
    if let range = try section.integer("gyroscopeRangeDegreesPerSecond", in: 250...2000) {
      guard let known = InertialConfiguration.GyroscopeRange(rawValue: range) else {
        throw section.wrong("gyroscopeRangeDegreesPerSecond", expected: "250, 500, 1000 or 2000")
      }
      configuration.gyroscopeRange = known
    }
    if let range = try section.integer("accelerometerRangeG", in: 2...16) {
      guard let known = InertialConfiguration.AccelerometerRange(rawValue: range) else {
        throw section.wrong("accelerometerRangeG", expected: "2, 4, 8 or 16")
      }
      configuration.accelerometerRange = known
    }
    // At this rate a quarter of the FIFO stays free for a late read.
    let slowest =
      chip.rate(nearest: configuration.rateHz) / (0.75 * Double(min(chip.leastFIFOSampleCount, IMUBatch.capacity)))
    burstRateHz = max(try section.number("burstRateHz", in: 2...1000) ?? 25, slowest)
    dataReady = try section.section("dataReady").map { (line) throws(BoardError) in try GPIOLineName(line) }
    if let requested = try section.boolean("wakeOnMotion") {
      guard !requested || chip.wakeOnMotion != nil && dataReady != nil else {
        let able = InertialChip.all.filter { $0.wakeOnMotion != nil }.map(\.name).joined(separator: " or ")
        let lack =
          chip.wakeOnMotion == nil
          ? "used with \(able)" : "used with 'dataReady', the line by which the chip signals motion"
        throw section.wrong("wakeOnMotion", expected: "false, or \(lack)")
      }
      wakesOnMotion = requested
    }
    mount = try section.rotation("mount") ?? .identity
    power = try Board.Power(
      section.section("power"), typicalMilliamperes: chip.milliamperes, standbyMilliamperes: chip.sleepMilliamperes)
    try section.finish()
  }
}
