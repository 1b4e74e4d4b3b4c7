import Devices
import HardwareIO

/// The load that a board's chips put on one bus.
struct BusLoad {
  /// The default bus clock of Raspberry Pis.
  private static let usualHertz = 100_000.0
  /// The maximum share of the bus's time. A higher one leaves no time for the pauses that controllers and chips make
  /// between bytes.
  private static let fullShare = 0.8

  /// The bus, for example `/dev/i2c-1`.
  let bus: String
  /// The share of the bus's time that each device takes, in the order of the board file.
  let shares: [(id: String, share: Double)]
  private let hertz: Double?

  /// - Parameter bus: the bus's path with all symbolic links resolved
  init(_ devices: [DeviceDescription], on bus: String, of machine: MachineFiles) {
    self.bus = bus
    let hertz = machine.hertz(ofI2CBus: bus)
    self.hertz = hertz
    shares = devices.compactMap { device in
      device.busClocksPerSecond.map { (device.id, $0 / (hertz ?? BusLoad.usualHertz)) }
    }
  }

  /// The expected problem, and the next step; `nil` if the load is below the maximum.
  var warning: String? {
    let total = shares.reduce(0) { $0 + $1.share }
    guard total > BusLoad.fullShare else { return nil }
    let kilohertz = Int(((hertz ?? BusLoad.usualHertz) / 1000).rounded())
    let speed = "\(kilohertz) kHz" + (hertz == nil ? ", the usual speed," : "")
    let parts = shares.map { "\($0.id) \(BusLoad.percent($0.share))" }.joined(separator: ", ")
    let busy = "would be busy for \(BusLoad.percent(total)) of the time (\(parts)), and samples would be lost"
    return "\(bus) at \(speed) \(busy): " + (kilohertz < 400 ? "\(BusLoad.faster); or " : "") + "lower 'rateHz'"
  }

  private static let faster =
    "add dtparam=i2c_arm_baudrate=400000 to /boot/firmware/config.txt and restart, if all chips on the bus support this speed"

  private static func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }
}

extension DeviceDescription {
  /// How many clock cycles of its bus the device needs per second; `nil` for a receiver, a chip with a kernel driver,
  /// and a simulated chip.
  var busClocksPerSecond: Double? {
    guard let place, place.bus.hasPrefix("/dev/") else { return nil }
    return switch self {
    case .receiver: nil
    case .imu(let imu): imu.chip.busClocksPerSecond(rateHz: imu.rateHz, burstRateHz: imu.burstRateHz)
    case .magnetometer(let magnetometer): magnetometer.chip.busClocksPerSecond(rateHz: magnetometer.rateHz)
    case .barometer(let barometer): barometer.chip.busClocksPerSecond(rateHz: barometer.rateHz)
    case .supplyMonitor(let monitor): monitor.chip.busClocksPerSecond(rateHz: monitor.rateHz)
    }
  }
}
