import Glibc
import Guarding
import HardwareIO
import MonotonicTime
import Simulation

/// A board's peripherals on devices of the kernel's: a receiver on a tty, and on /dev/i2c-N an IMU and, on the same supply,
/// another one, a magnetometer, a barometer and a supply monitor; alive only while their power line is high.
///
/// The hub under test opens the kernel's devices and knows nothing of this.
public final class VirtualBoard: Sendable {
  public static let gpsPower = "gps-power"
  public static let imuPower = "imu-power"
  public static let dataReady = "imu-ready"
  /// Inputs that the power lines are looped to, as on a real board under test.
  public static let gpsSense = "gps-sense"
  public static let imuSense = "imu-sense"
  /// An input on the same wire as the data-ready line's.
  public static let witnesses = ["imu-ready-before", "imu-ready-after"]

  public let chip: GPIOSimulator
  public let imu: SimulatedMPU6050
  public let receiver: SimulatedReceiver
  public let gpsLine: LineHistory
  public let imuLine: LineHistory
  /// Where the receiver's tty and the IMU's bus appear, as udev would name them.
  public let folder: String
  private let relay: Guarded<I2CRelay?>
  /// All that is on the IMU's bus.
  private let chips: SimulatedI2CBus

  public var gpsPath: String { "\(folder)/gps" }
  public var imuPath: String { "\(folder)/imu" }

  /// - Parameters:
  ///   - label: of the GPIO chip
  ///   - folder: for the names of the devices, made if missing
  ///   - parked: seconds in which the vehicle stands, in their order; it has been on its way for 15 by now
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

  /// Takes the whole bus away.
  public func unplugIMU() {
    unlink(imuPath)
    relay.withLock { relay in
      relay?.remove()
      relay = nil
    }
  }

  public func plugInReceiver() throws(HardwareError) {
    let path = try receiver.plugIn()
    // As udev does with a real one.
    if let group = getgrnam("dialout") { chown(path, 0, group.pointee.gr_gid) }
    chmod(path, 0o660)
    name(gpsPath, path)
  }

  public func unplugReceiver() {
    unlink(gpsPath)
    receiver.hangUp()
  }

  /// Gives a device its stable name, in one step.
  private func name(_ path: String, _ device: String) {
    unlink("\(path).new")
    symlink(device, "\(path).new")
    rename("\(path).new", path)
  }

  /// Drives the data-ready line as the chip's INT pin does, until told to stop.
  public func driveDataReady() throws(HardwareError) -> DataReadyDriver { try DataReadyDriver(imu: imu, chip: chip) }
}
