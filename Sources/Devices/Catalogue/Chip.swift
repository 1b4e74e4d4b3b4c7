import HardwareIO

/// An entry of the catalogue: a chip's name, identity and driver.
public struct Chip<Driver, Configuration>: Sendable {
  /// Its name in a board file: `mpu-6050`.
  public let name: String
  /// For people: `MPU-6050`.
  public let title: String
  /// 7 bits; the first is the usual one.
  public let addresses: [UInt8]
  public let identity: ChipIdentity
  /// What its relatives say they are, whom the driver takes as well.
  let relatives: [UInt8]
  /// The Linux driver that has read the same from the chip's twin as the hub's driver; if there is none, another user
  /// of the chip.
  public let provenAgainst: String
  /// How many samples its FIFO holds, as far as the driver uses it; 0 for none.
  public let fifoSampleCount: Int
  /// How many that of any chip holds which the driver takes.
  public let leastFIFOSampleCount: Int
  /// The number of looks for one sample, if it is polled.
  public let looksPerSample: Int
  /// Whether its interrupt line falls when a sample is ready, instead of rising.
  public let dataReadyFalls: Bool
  /// What its driver moves over the bus to read it.
  let readout: BusReadout
  /// Its power while it measures.
  public let milliamperes: Double
  /// Its power while it sleeps.
  public let sleepMilliamperes: Double
  /// Of inertial sensors: how it waits for motion; `nil` for one that cannot.
  public let wakeOnMotion: WakeOnMotion?
  /// The slowest and the fastest that can be asked for.
  public let ratesHz: ClosedRange<Double>
  private let actualRate: @Sendable (_ wishHz: Double) -> Double
  private let makeDriver: @Sendable (ChipConnection, Configuration) -> Driver
  private let putToSleep: @Sendable (I2CRegisters) throws(HardwareError) -> Void

  /// - Parameters:
  ///   - actualRate: the chip's rate for a wanted one
  ///   - putToSleep: puts a chip to sleep of which nothing else is known
  init(
    name: String, title: String, addresses: [UInt8], identity: ChipIdentity, relatives: [UInt8] = [],
    provenAgainst: String,
    fifoSampleCount: Int = 0, leastFIFOSampleCount: Int? = nil, looksPerSample: Int = 1, dataReadyFalls: Bool = false,
    readout: BusReadout = .polled, milliamperes: Double,
    sleepMilliamperes: Double,
    ratesHz: ClosedRange<Double>, actualRate: @escaping @Sendable (_ wishHz: Double) -> Double,
    makeDriver: @escaping @Sendable (ChipConnection, Configuration) -> Driver,
    putToSleep: @escaping @Sendable (I2CRegisters) throws(HardwareError) -> Void,
    wakeOnMotion: WakeOnMotion? = nil
  ) {
    self.name = name
    self.title = title
    self.addresses = addresses
    self.identity = identity
    self.relatives = relatives
    self.provenAgainst = provenAgainst
    self.fifoSampleCount = fifoSampleCount
    self.leastFIFOSampleCount = leastFIFOSampleCount ?? fifoSampleCount
    self.looksPerSample = looksPerSample
    self.dataReadyFalls = dataReadyFalls
    self.readout = readout
    self.milliamperes = milliamperes
    self.sleepMilliamperes = sleepMilliamperes
    self.ratesHz = ratesHz
    self.actualRate = actualRate
    self.makeDriver = makeDriver
    self.putToSleep = putToSleep
    self.wakeOnMotion = wakeOnMotion
  }

  /// The rate that the chip makes of a wish.
  public func rate(nearest wishHz: Double) -> Double { actualRate(wishHz) }

  /// The number of clocks per second for which reading it occupies its bus.
  ///
  /// - Parameters:
  ///   - rateHz: samples a second
  ///   - burstRateHz: the rate at which its FIFO is emptied, if it has one
  public func busClocksPerSecond(rateHz: Double, burstRateHz: Double = 0) -> Double {
    readout.clocks(rateHz: rateHz * Double(looksPerSample), burstRateHz: burstRateHz)
  }

  public func driver(_ connection: ChipConnection, _ configuration: Configuration) -> Driver {
    makeDriver(connection, configuration)
  }

  /// Puts a chip to sleep of which nothing else is known; does nothing to a chip that its driver would refuse.
  public func sleep(on bus: any I2CBus, address: UInt8) throws(HardwareError) {
    try bus.claim(address)
    let registers = I2CRegisters(bus, address: address, capacity: ChipIdentity.longest)
    guard try identity.isTrue(of: registers, alsoTaking: relatives) else { return }
    try putToSleep(registers)
  }
}

extension Chip: Equatable {
  public static func == (a: Chip, b: Chip) -> Bool { a.name == b.name }
}
