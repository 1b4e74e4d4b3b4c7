import Glibc
import Guarding
import HardwareIO
import MonotonicTime
import Simulation

/// The peripherals of a board on kernel devices: a receiver on a tty and, on /dev/i2c-N with a common supply, two
/// IMUs, a magnetometer, a barometer and a supply monitor. They work only while their power line is high.
///
/// The hub under test opens the kernel's devices and has no knowledge of this type.
public final class VirtualBoard: Sendable {
  public static let gpsPower = "gps-power"
  public static let imuPower = "imu-power"
  public static let dataReady = "imu-ready"
  /// Inputs connected to the power lines, as on a real board under test.
  public static let gpsSense = "gps-sense"
  public static let imuSense = "imu-sense"
  /// Inputs on the same wire as the data-ready line.
  public static let witnesses = ["imu-ready-before", "imu-ready-after"]

  public let chip: GPIOSimulator
  public let imu: SimulatedMPU6050
  public let receiver: SimulatedReceiver
  public let gpsLine: LineHistory
  public let imuLine: LineHistory
  /// The folder for the names of the receiver's tty and the IMU's bus, as udev would create them.
  public let folder: String
  private let relay: Guarded<I2CRelay?>
  /// All chips on the IMU's bus.
  private let chips: SimulatedI2CBus

  public var gpsPath: String { "\(folder)/gps" }
  public var imuPath: String { "\(folder)/imu" }

  /// - Parameters:
  ///   - label: the label of the GPIO chip
  ///   - folder: the folder for the device names, created if missing
  ///   - parked: periods in seconds during which the vehicle is parked, in order; the simulation is 15 s old at this
  ///     point
  public init(
    label: String, folder: String, receiver configuration: SimulatedReceiver.Configuration = .init(),
    parked: [Range<Double>] = []
  ) throws(HardwareError) {
    let chip = try GPIOSimulator(
      label: label,
      lineNames: [
        VirtualBoard.gpsPower, VirtualBoard.imuPower, VirtualBoard.dataReady, VirtualBoard.witnesses[0],
        VirtualBoard.witnesses[1],
        VirtualBoard.gpsSense, VirtualBoard.imuSense,
      ])
    let world = VirtualBoard.world(parked: parked)
    let imu = SimulatedMPU6050(name: "relay", world: world) { chip.level(VirtualBoard.imuPower) }
    let receiver = SimulatedReceiver(world: world, configuration: configuration)
    @Sendable func isPowered() -> Bool { chip.level(VirtualBoard.imuPower) }
    let spare = SimulatedBMI160(name: "relay", world: world, isPowered: isPowered)
    let magnetometer = SimulatedLIS3MDL(name: "relay", world: world, isPowered: isPowered)
    let barometer = SimulatedBME280(name: "relay", world: world, isPowered: isPowered)
    let supply = SimulatedSupply(amperes: 0, swingAmperes: 0)
    let monitor = SimulatedINA226(name: "relay", supply: supply, world: world, isPowered: isPowered)
    chips = SimulatedI2CBus(name: "relay", chips: [imu, spare, magnetometer, barometer, monitor])
    self.chip = chip
    self.imu = imu
    self.receiver = receiver
    self.folder = folder
    mkdir(folder, 0o755)
    gpsLine = LineHistory(of: { chip.level(VirtualBoard.gpsPower) }) { isHigh in
      receiver.setPower(isHigh)
      supply.load("gps", amperes: isHigh ? SimulatedHardware.gpsAmperes : 0)
      chip.drive(VirtualBoard.gpsSense, isHigh)
    }
    imuLine = LineHistory(of: { chip.level(VirtualBoard.imuPower) }) { isHigh in
      if !isHigh {
        imu.lostPower()
        spare.lostPower()
        magnetometer.lostPower()
        barometer.lostPower()
        monitor.lostPower()
      }
      chip.drive(VirtualBoard.imuSense, isHigh)
    }
    relay = Guarded(nil)
    try plugInIMU()
    try plugInReceiver()
  }

  private static func world(parked: [Range<Double>]) -> World {
    var world = World(start: MonotonicClock().now.advanced(by: .seconds(-15)))
    world.parked = parked
    return world
  }

  public var bus: I2CRelay? { relay.withLock { $0 } }

  public func plugInIMU() throws(HardwareError) {
    let new = try I2CRelay(model: chips)
    relay.withLock { $0 = new }
    name(imuPath, new.path)
  }

  /// Removes the whole bus.
  public func unplugIMU() {
    unlink(imuPath)
    relay.withLock { relay in
      relay?.remove()
      relay = nil
    }
  }

  public func plugInReceiver() throws(HardwareError) {
    let path = try receiver.plugIn()
    // udev does the same with a real device.
    if let group = getgrnam("dialout") { chown(path, 0, group.pointee.gr_gid) }
    chmod(path, 0o660)
    name(gpsPath, path)
  }

  public func unplugReceiver() {
    unlink(gpsPath)
    receiver.hangUp()
  }

  /// Gives a device its stable name atomically.
  private func name(_ path: String, _ device: String) {
    unlink("\(path).new")
    symlink(device, "\(path).new")
    rename("\(path).new", path)
  }

  /// Drives the data-ready line like the chip's INT pin, until stopped.
  public func driveDataReady() throws(HardwareError) -> DataReadyDriver { try DataReadyDriver(imu: imu, chip: chip) }
}
