import Devices
import HardwareIO

/// What reading a board's chips takes of one of its buses.
struct BusLoad {
  /// The default bus clock of Raspberry Pis.
  private static let usualHertz = 100_000.0
  /// Beyond this there is no time for the pauses of controllers and chips between bytes.
  private static let fullShare = 0.8

  /// `/dev/i2c-1`
  let bus: String
  /// By the devices' names, in the order of the board file; shares of the bus's time.
  let shares: [(id: String, share: Double)]
  private let hertz: Double?

  /// - Parameter bus: with all links followed, as the devices are
  init(_ devices: [DeviceDescription], on bus: String, of machine: MachineFiles) {
    self.bus = bus
    let hertz = machine.hertz(ofI2CBus: bus)
    self.hertz = hertz
    shares = devices.compactMap { device in
      device.busClocksPerSecond.map { (device.id, $0 / (hertz ?? BusLoad.usualHertz)) }
    }
  }

  /// The expected problem, and the next step; `nil` if there is enough time.
  var warning: String? {
    let total = shares.reduce(0) { $0 + $1.share }
    guard total > BusLoad.fullShare else { return nil }
    let kilohertz = Int(((hertz ?? BusLoad.usualHertz) / 1000).rounded())
    let speed = "\(kilohertz) kHz" + (hertz == nil ? ", the usual speed," : "")
    let parts = shares.map { "\($0.id) \(BusLoad.percent($0.share))" }.joined(separator: ", ")
    let busy = "would be busy for \(BusLoad.percent(total)) of the time (\(parts)), and samples be lost"
    return "\(bus) at \(speed) \(busy): " + (kilohertz < 400 ? "\(BusLoad.faster); or " : "") + "lower 'rateHz'"
  }

  private static let faster =
    "add dtparam=i2c_arm_baudrate=400000 to /boot/firmware/config.txt and restart, if all its chips can do that"

  private static func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }
}

extension DeviceDescription {
  /// The number of clocks per second for which its bus is busy with it; `nil` for a device that is on none, or has a
  /// kernel driver.
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
