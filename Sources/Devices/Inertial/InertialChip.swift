import HardwareIO
import MonotonicTime

/// An entry of the catalogue of inertial sensors: what the chip is called, how it is told from others, and who drives it.
public struct InertialChip: Sendable {
  /// What a driver is made of.
  public struct Connection {
    public var bus: any I2CBus
    public var address: UInt8
    /// The chip's interrupt line, which rises when a sample is ready, where it is wired.
    public var dataReady: (any GPIOEdgeInput)?
    public var clock: any MonotonicTimeSource
    /// Waits on the calling thread, for the chip to wake.
    public var pause: (Duration) -> Void

    public init(
      bus: any I2CBus, address: UInt8, dataReady: (any GPIOEdgeInput)? = nil,
      clock: any MonotonicTimeSource = MonotonicClock(), pause: @escaping (Duration) -> Void
    ) {
      self.bus = bus
      self.address = address
      self.dataReady = dataReady
      self.clock = clock
      self.pause = pause
    }
  }

  /// What a board file calls it: `mpu-6050`.
  public let name: String
  /// For people: `MPU-6050`.
  public let title: String
  /// 7 bits; the first is the usual one.
  public let addresses: [UInt8]
  public let identity: ChipIdentity
  /// What its relatives say they are, whom the driver takes as well.
  let relatives: [UInt8]
  /// How many samples its FIFO holds.
  public let fifoSampleCount: Int
  /// How many that of any chip holds which the driver takes.
  public let leastFIFOSampleCount: Int
  /// What it draws while it measures.
  public let milliamperes: Double
  /// What it draws while it sleeps.
  public let sleepMilliamperes: Double
  /// The slowest and the fastest that can be asked for.
  public let ratesHz: ClosedRange<Double>
  let actualRate: @Sendable (_ wishHz: Double) -> Double
  let makeDriver: @Sendable (Connection, InertialConfiguration) -> any InertialDriver
  let putToSleep: @Sendable (_ bus: any I2CBus, _ address: UInt8) throws(HardwareError) -> Void

  /// The rate that the chip makes of a wish.
  public func rate(nearest wishHz: Double) -> Double { actualRate(wishHz) }

  public func driver(_ connection: Connection, _ configuration: InertialConfiguration) -> any InertialDriver {
    makeDriver(connection, configuration)
  }

  /// Has a chip sleep of which nothing else is known; leaves alone what its driver would refuse.
  public func sleep(on bus: any I2CBus, address: UInt8) throws(HardwareError) {
    try bus.claim(address)
    let registers = I2CRegisters(bus, address: address, capacity: 1)
    let id = try registers.read(identity.register)
    guard identity.values.contains(id) || relatives.contains(id) else { return }
    try putToSleep(bus, address)
  }
}

extension InertialChip: Equatable {
  public static func == (a: InertialChip, b: InertialChip) -> Bool { a.name == b.name }
}

/// The register by which a chip says what it is.
public struct ChipIdentity: Equatable, Sendable {
  public var register: UInt8
  /// Clones included.
  public var values: [UInt8]

  public init(register: UInt8, values: [UInt8]) {
    self.register = register
    self.values = values
  }
}

extension InertialChip {
  /// The commonest first.
  public static let all = [mpu6050, mpu6500, mpu9250, lsm6dsox, ism330dhcx, bmi160]
}
