import Glibc
import HardwareIO
import MonotonicTime
import Simulation

/// The peripherals of a board that can hang in the kernel: a receiver on a UART, two IMUs and a barometer on two I2C
/// buses, and power lines on a GPIO chip and on a GPIO expander, which has a bus of its own.
///
/// The hub under test opens the kernel's devices and has no knowledge of this type.
public final class HangingBoard: Sendable {
  public static let (gpsPower, imuPower) = ("hanging-gps", "hanging-imu")
  /// The lines of the expander, by offset.
  public static let (sparePower, baroPower) = (0, 1)

  public let chip: GPIOSimulator
  public let expander: GPIOExpander
  /// The bus of the preferred IMU, an MPU-6050.
  public let imuBus: I2CRelay
  /// The bus of the other IMU, a BMI160, and of the barometer.
  public let spareBus: I2CRelay
  public let receiver: CommandedReceiver
  public let port: RelayedPort
  /// The power line of each device.
  public let lines: [String: LineHistory]

  public init(label: String) throws(HardwareError) {
    let chip = try GPIOSimulator(label: label, lineNames: [HangingBoard.gpsPower, HangingBoard.imuPower])
    let expander = try GPIOExpander()
    let world = World(start: MonotonicClock().now.advanced(by: .seconds(-15)))
    let imu = SimulatedMPU6050(name: "relay", world: world) { chip.level(HangingBoard.imuPower) }
    let spare = SimulatedBMI160(name: "relay", world: world) { expander.level(HangingBoard.sparePower) }
    let barometer = SimulatedBME280(name: "relay", world: world) { expander.level(HangingBoard.baroPower) }
    let imuBus = try I2CRelay(model: SimulatedI2CBus(name: "relay", chips: [imu]), mayHang: true)
    spareBus = try I2CRelay(model: SimulatedI2CBus(name: "relay", chips: [spare, barometer]), mayHang: true)
    var configuration = CommandedReceiver.Configuration()
    configuration.wasUsedBefore = true
    configuration.timeToFirstFixScale = 0.01
    let receiver = CommandedReceiver(.mediatek, world: world, configuration: configuration)
    port = try RelayedPort(to: try receiver.plugIn(), speed: speed_t(B9600))
    (self.chip, self.expander, self.imuBus, self.receiver) = (chip, expander, imuBus, receiver)
    lines = [
      "gps": LineHistory(of: { chip.level(HangingBoard.gpsPower) }) { receiver.setPower($0) },
      "imu": LineHistory(of: { chip.level(HangingBoard.imuPower) }) { isHigh in
        guard !isHigh else { return }
        imu.lostPower()
        imuBus.lostSupply()
      },
      "spare": LineHistory(of: { expander.level(HangingBoard.sparePower) }) { if !$0 { spare.lostPower() } },
      "baro": LineHistory(of: { expander.level(HangingBoard.baroPower) }) { if !$0 { barometer.lostPower() } },
    ]
  }

  /// Ends every hang and every fault.
  public func free() {
    for bus in [imuBus, spareBus, expander.bus] { bus.setHanging(false) }
    expander.inject(nil)
    port.setBlocked(false)
  }

  public var areLinesLow: Bool { !lines.values.contains { $0.isHigh } }

  /// The levels of the power lines, in words.
  public var levels: String {
    lines.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.isHigh ? "high" : "low")" }.joined(separator: ", ")
  }

  /// The devices of a board file.
  ///
  /// - Parameter ids: the devices to include
  public func boardFile(_ ids: [String], idleTimeout: Double = 0) -> String {
    func power(_ line: String, of chip: String) -> String {
      """
      power: { switch: "gpio", chip: "\(chip)", line: "\(line)", settleMilliseconds: 0, lingerSeconds: \(idleTimeout) }
      """
    }
    let sections = [
      "gps":
        "driver: \"mediatek\", port: \"\(port.path)\", speed: 9600, \(power(HangingBoard.gpsPower, of: chip.label))",
      "imu":
        "driver: \"mpu-6050\", bus: \"\(imuBus.path)\", rateHz: 200, \(power(HangingBoard.imuPower, of: chip.label))",
      "spare":
        "driver: \"bmi160\", bus: \"\(spareBus.path)\", \(power("\(HangingBoard.sparePower)", of: expander.label))",
      "baro":
        "driver: \"bme280\", bus: \"\(spareBus.path)\", \(power("\(HangingBoard.baroPower)", of: expander.label))",
    ]
    let devices = ids.map { "\($0): { \(sections[$0] ?? "") }" }.joined(separator: ",\n")
    return "{ name: \"hanging\", devices: { \(devices) }, state: { rateHz: 50 } }"
  }
}
