import Devices
import HardwareIO

/// An inertial sensor, and how it sits in the body.
public struct IMUDescription: Equatable, Sendable {
  /// The name that the board file gives it.
  public var id: String
  public var bus: String
  public var address: UInt8
  public var configuration: MPUConfiguration
  /// How often the FIFO is emptied.
  public var burstRateHz: Double
  public var dataReady: GPIOLineName?
  public var power: Board.Power
  public var mount: MountMatrix
  /// What has been calibrated of this chip; not from the board file.
  public var calibration = ChipCalibration()

  /// Tells this chip from others, for the name of a file: `i2c-1-68`.
  public var identifier: String {
    let bus = self.bus.split(separator: "/").filter { $0 != "dev" }.joined(separator: "-")
    return "\(bus)-\(String(address, radix: 16))"
  }

  /// Whether it is read in the same way, however it sits and whatever has been calibrated.
  func isRead(like other: IMUDescription) -> Bool {
    (id, bus, address, power) == (other.id, other.bus, other.address, other.power)
      && (configuration, burstRateHz, dataReady) == (other.configuration, other.burstRateHz, other.dataReady)
  }
}

extension IMUDescription {
  init(_ id: String, _ section: BoardSection) throws(BoardError) {
    var section = section
    self.id = id
    let bus = try section.required("bus")
    // By its short name too.
    self.bus = bus.hasPrefix("i2c-") ? "/dev/\(bus)" : bus
    address = UInt8(try section.integer("address", in: 0x08...0x77) ?? 0x68)
    configuration = MPUConfiguration(rateHz: try section.number("rateHz", in: 4...1000) ?? 200)
    if let range = try section.integer("gyroscopeRangeDegreesPerSecond", in: 250...2000) {
      guard let known = MPUConfiguration.GyroscopeRange(rawValue: range) else {
        throw section.wrong("gyroscopeRangeDegreesPerSecond", expected: "250, 500, 1000 or 2000")
      }
      configuration.gyroscopeRange = known
    }
    if let range = try section.integer("accelerometerRangeG", in: 2...16) {
      guard let known = MPUConfiguration.AccelerometerRange(rawValue: range) else {
        throw section.wrong("accelerometerRangeG", expected: "2, 4, 8 or 16")
      }
      configuration.accelerometerRange = known
    }
    // A FIFO of 512 bytes holds 42 samples: leave room for a late read.
    let slowest = configuration.actualRateHz / 32
    burstRateHz = max(try section.number("burstRateHz", in: 2...1000) ?? 25, slowest)
    dataReady = try section.section("dataReady").map { (line) throws(BoardError) in try GPIOLineName(line) }
    mount = try section.rotation("mount") ?? .identity
    // Product specification 6.2: 5 microamperes in sleep mode.
    power = try Board.Power(section.section("power"), typicalMilliamperes: 4, standbyMilliamperes: 0.005)
    try section.finish()
  }
}
