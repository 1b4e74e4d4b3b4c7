import Guarding
import HardwareIO
import MonotonicTime

/// Simulated devices, whose names begin with `simulated`. All other names are passed to other hardware, so a board can
/// use simulated and real devices together.
///
/// There are two receivers: `simulated/gps`, powered by the line `gps-power`, and `simulated/gps2` (`gps2-power`).
/// The bus `simulated/i2c` has these chips, each with its own power line: an MPU-6050 at 0x68 (`imu-power`), a BMI160
/// at 0x69 (`bmi160-power`), an LSM6DSOX at 0x6A (`lsm6dsox-power`), a magnetometer LIS3MDL at 0x1C (`mag-power`),
/// and a barometer BME280 at 0x76 (`baro-power`). All lines are on the GPIO chip `simulated`. A device whose line is
/// not driven always has its supply. An INA226 at 0x40, always supplied, measures the current of the first receiver.
///
/// In addition, each `ReceiverPersonality` is a receiver that understands commands, for example `simulated/ublox-8`,
/// powered by `ublox-8-power`. The u-blox 10 can be reached at 0x42 of the bus instead.
public final class SimulatedHardware: Hardware {
  /// The prefix of the names of simulated ports and buses.
  public static let prefix = SimulatedName.prefix
  public static let serialPort = "simulated/gps"
  public static let secondSerialPort = "simulated/gps2"
  public static let i2cBus = "simulated/i2c"
  /// The receiver on the bus. It has no other port.
  public static let i2cReceiver = ReceiverPersonality.ublox10
  public static let gpioChip = "simulated"
  public static let gpsPowerLine = "gps-power"
  public static let secondGPSPowerLine = "gps2-power"
  public static let imuPowerLine = "imu-power"
  public static let lsm6dsoxPowerLine = "lsm6dsox-power"
  /// The line on the same GPIO chip that the LSM6DSOX raises when it detects motion. The line does not signal new
  /// samples.
  public static let lsm6dsoxInterruptLine = "lsm6dsox-int1"
  public static let bmi160PowerLine = "bmi160-power"
  public static let magnetometerPowerLine = "mag-power"
  public static let barometerPowerLine = "baro-power"

  /// The current of the first receiver while it is on. It deliberately differs from the value in board files, so that a
  /// result shows which of the two was used.
  public static let gpsAmperes = 0.031

  public let world: World
  /// Moves the board while the simulation runs.
  public let rehearsal: Rehearsal
  /// The supply line of the first receiver, which the supply monitor measures.
  public let gpsSupply: SimulatedSupply
  public let powerLines = PowerLines()
  public let lsm6dsoxInterrupt = SimulatedInterrupt()
  public let imu: SimulatedMPU6050
  public let receiver: SimulatedReceiver
  public let secondReceiver: SimulatedReceiver
  private let clock: any MonotonicTimeSource
  private let bus: SimulatedI2CBus
  private let real: any Hardware
  /// The receivers that understand commands. Each is created on first use.
  private let commanded = Guarded<[ReceiverPersonality: CommandedReceiver]>([:])
  /// The receiver's port on the bus, which is created when it is first opened.
  private let i2cReceiver = Guarded<SimulatedI2CReceiver?>(nil)

  public init(
    clock: any MonotonicTimeSource = MonotonicClock(), receiver: SimulatedReceiver.Configuration = .init(),
    secondReceiver: SimulatedReceiver.Configuration = .init(), world: World? = nil,
    else real: any Hardware = LinuxHardware()
  ) {
    // The simulation begins while the vehicle is moving, so that its heading is available immediately.
    let rehearsal = world?.rehearsal ?? Rehearsal()
    var present = world ?? World(start: clock.now.advanced(by: .seconds(-15)))
    present.rehearsal = rehearsal
    let world = present
    self.rehearsal = rehearsal
    let lines = powerLines
    let imu = SimulatedMPU6050(name: SimulatedHardware.i2cBus, world: world, clock: clock) {
      lines.supplies(SimulatedHardware.imuPowerLine)
    }
    // Makes one of the other chips, each with its own power line.
    func chip<Registers>(_ line: String, _ interrupt: SimulatedInterrupt? = nil) -> SimulatedRegisterChip<Registers> {
      let chip = SimulatedRegisterChip<Registers>(
        name: SimulatedHardware.i2cBus, world: world, clock: clock, interrupt: interrupt
      ) {
        lines.supplies(line)
      }
      lines.observe(line) { [weak chip] isOn in if !isOn { chip?.lostPower() } }
      return chip
    }
    let lsm6dsox: SimulatedLSM6DSOX = chip(SimulatedHardware.lsm6dsoxPowerLine, lsm6dsoxInterrupt)
    let bmi160: SimulatedBMI160 = chip(SimulatedHardware.bmi160PowerLine)
    let magnetometer: SimulatedLIS3MDL = chip(SimulatedHardware.magnetometerPowerLine)
    let barometer: SimulatedBME280 = chip(SimulatedHardware.barometerPowerLine)
    let supply = SimulatedSupply(clock: clock, openVolts: 3.3, amperes: 0, swingAmperes: 0)
    gpsSupply = supply
    let monitor = SimulatedINA226(name: SimulatedHardware.i2cBus, supply: supply, world: world, clock: clock) { true }
    let gps = SimulatedReceiver(world: world, clock: clock, configuration: receiver)
    self.world = world
    self.clock = clock
    self.imu = imu
    bus = SimulatedI2CBus(
      name: SimulatedHardware.i2cBus, chips: [imu, lsm6dsox, bmi160, magnetometer, barometer, monitor])
    self.receiver = gps
    let gps2 = SimulatedReceiver(world: world, clock: clock, configuration: secondReceiver)
    self.secondReceiver = gps2
    lines.observe(SimulatedHardware.secondGPSPowerLine) { [weak gps2] in gps2?.setPower($0) }
    self.real = real
    lines.observe(SimulatedHardware.gpsPowerLine) { [weak gps] isOn in
      supply.load("gps", amperes: isOn ? SimulatedHardware.gpsAmperes : 0)
      gps?.setPower(isOn)
    }
    lines.observe(SimulatedHardware.imuPowerLine) { [weak imu] isOn in if !isOn { imu?.lostPower() } }
  }

  /// Injects a fault into the communication with a chip of the simulated bus. `nil` removes the fault.
  public func inject(_ fault: I2CFault?, at address: UInt8) { bus.inject(fault, at: address) }

  /// The receiver of a kind. The first call creates it with the configuration; later calls ignore the configuration.
  public func receiver(
    _ personality: ReceiverPersonality, configuration: CommandedReceiver.Configuration = .init()
  ) -> CommandedReceiver {
    let (receiver, isNew) = commanded.withLock { receivers in
      if let receiver = receivers[personality] { return (receiver, false) }
      let receiver = CommandedReceiver(personality, world: world, clock: clock, configuration: configuration)
      receivers[personality] = receiver
      return (receiver, true)
    }
    if isNew {
      powerLines.observe(personality.powerLine) { [weak receiver] isOn in receiver?.setPower(isOn) }
      receiver.setPower(powerLines.level(personality.powerLine))
    }
    return receiver
  }

  public func i2cBus(_ name: String) throws(HardwareError) -> any I2CBus {
    guard isSimulated(name) else { return try real.i2cBus(name) }
    guard name == SimulatedHardware.i2cBus else { throw .notFound("simulated I2C bus '\(name)'") }
    return bus
  }

  public func serialPort(_ name: String, speed: BaudRate) throws(HardwareError) -> any SerialPort {
    guard isSimulated(name) else { return try real.serialPort(name, speed: speed) }
    if let place = I2CPortName(name) { return try I2CSerialPort(place, on: try receiverBus(place.bus)) }
    switch name {
    case SimulatedHardware.serialPort:
      if isWired(SimulatedHardware.gpsPowerLine) { receiver.setPower(true) }
      return try receiver.open(speed: speed)
    case SimulatedHardware.secondSerialPort:
      if isWired(SimulatedHardware.secondGPSPowerLine) { secondReceiver.setPower(true) }
      return try secondReceiver.open(speed: speed)
    default:
      guard let personality = ReceiverPersonality.allCases.first(where: { $0.port == name }) else {
        throw .notFound("simulated serial port '\(name)'")
      }
      let commanded = receiver(personality)
      if isWired(personality.powerLine) { commanded.setPower(true) }
      return try commanded.open(speed: speed)
    }
  }

  /// The simulated bus with a receiver on it.
  private func receiverBus(_ name: String) throws(HardwareError) -> any I2CBus {
    guard name == bus.name else { throw .notFound("simulated I2C bus '\(name)'") }
    let personality = SimulatedHardware.i2cReceiver
    var configuration = CommandedReceiver.Configuration()
    configuration.isOnI2C = true
    let receiver = receiver(personality, configuration: configuration)
    if isWired(personality.powerLine) { receiver.setPower(true) }
    i2cReceiver.withLock { port in
      if port != nil { return }
      let new = SimulatedI2CReceiver(name: name, receiver: receiver)
      bus.add(new)
      port = new
    }
    return bus
  }

  public func checkSerialPort(_ name: String) throws(HardwareError) {
    if !isSimulated(name) { try real.checkSerialPort(name) }
  }

  public func makeSafe(serialPort name: String) throws(HardwareError) {
    if !isSimulated(name) { try real.makeSafe(serialPort: name) }
  }

  /// Whether the line is not driven, which means that its receiver always has a supply.
  private func isWired(_ line: String) -> Bool { !powerLines.isDriven(line) }

  public func gpioOutput(_ name: GPIOLineName, activeLow: Bool) throws(HardwareError) -> any GPIOOutput {
    guard isSimulated(name.chip) else { return try real.gpioOutput(name, activeLow: activeLow) }
    return SimulatedOutput(lines: powerLines, line: name.line)
  }

  public func gpioEdges(_ name: GPIOLineName, falling: Bool) throws(HardwareError) -> any GPIOEdgeInput {
    guard isSimulated(name.chip) else { return try real.gpioEdges(name, falling: falling) }
    guard name.line == SimulatedHardware.lsm6dsoxInterruptLine else {
      throw .unsupported("the simulated line '\(name.line)' has no edges")
    }
    return lsm6dsoxInterrupt.edges(falling: falling)
  }

  public func isSimulated(_ name: String) -> Bool { SimulatedHardware.isSimulated(name) }

  /// Whether a name belongs to the simulation.
  public static func isSimulated(_ name: String) -> Bool { name == gpioChip || name.hasPrefix(prefix) }

  /// All ports that can be opened.
  public static let serialPorts = [serialPort, secondSerialPort] + ReceiverPersonality.allCases.map(\.port)
}
