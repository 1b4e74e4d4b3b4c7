import HardwareIO

/// An entry of the catalogue: what a chip is called, how it is told from others, and who drives it.
public struct Chip<Driver, Configuration>: Sendable {
  /// What a board file calls it: `mpu-6050`.
  public let name: String
  /// For people: `MPU-6050`.
  public let title: String
  /// 7 bits; the first is the usual one.
  public let addresses: [UInt8]
  public let identity: ChipIdentity
  /// What its relatives say they are, whom the driver takes as well.
  let relatives: [UInt8]
  /// Linux's driver that has read the same of its twin as the hub's; where there is none, who else uses it like this.
  public let provenAgainst: String
  /// How many samples its FIFO holds, as far as the driver uses it; 0 for none.
  public let fifoSampleCount: Int
  /// How many that of any chip holds which the driver takes.
  public let leastFIFOSampleCount: Int
  /// How often it has to be looked at for one sample, where it is polled.
  public let looksPerSample: Int
  /// Whether its interrupt line falls when a sample is ready, instead of rising.
  public let dataReadyFalls: Bool
  /// What its driver moves over the bus to read it.
  let readout: BusReadout
  /// What it draws while it measures.
  public let milliamperes: Double
  /// What it draws while it sleeps.
  public let sleepMilliamperes: Double
  /// Of inertial sensors: how it waits for motion; `nil` for one that cannot.
  public let wakeOnMotion: WakeOnMotion?
  /// The slowest and the fastest that can be asked for.
  public let ratesHz: ClosedRange<Double>
  private let actualRate: @Sendable (_ wishHz: Double) -> Double
  private let makeDriver: @Sendable (ChipConnection, Configuration) -> Driver
  private let putToSleep: @Sendable (I2CRegisters) throws(HardwareError) -> Void

  /// - Parameters:
  ///   - actualRate: what the chip makes of a wish
  ///   - putToSleep: has a chip sleep of which nothing else is known
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

  /// How many clocks a second its bus is busy with reading it.
  ///
  /// - Parameters:
  ///   - rateHz: samples a second
  ///   - burstRateHz: how often its FIFO is emptied, where it has one
  public func busClocksPerSecond(rateHz: Double, burstRateHz: Double = 0) -> Double {
    readout.clocks(rateHz: rateHz * Double(looksPerSample), burstRateHz: burstRateHz)
  }

  public func driver(_ connection: ChipConnection, _ configuration: Configuration) -> Driver {
    makeDriver(connection, configuration)
  }

  /// Has a chip sleep of which nothing else is known; leaves alone what its driver would refuse.
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
