import HardwareIO

/// An entry of the catalogue: a chip's name, identity and driver.
public struct Chip<Driver, Configuration>: Sendable {
  /// The name in a board file, for example `mpu-6050`.
  public let name: String
  /// The title to show, for example `MPU-6050`.
  public let title: String
  /// The possible 7-bit addresses; the first is the usual one.
  public let addresses: [UInt8]
  public let identity: ChipIdentity
  /// The identities of related chips that the driver accepts as well.
  let relatives: [UInt8]
  /// The Linux driver that has read the same values from the simulated chip as the hub's driver. If there is no such
  /// driver, other software that uses the chip in the same way.
  public let provenAgainst: String
  /// The number of samples of the chip's FIFO that the driver uses; 0 if there is no FIFO.
  public let fifoSampleCount: Int
  /// The number of samples that the smallest FIFO of the accepted chips holds; 1 for an inertial sensor without a FIFO.
  public let leastFIFOSampleCount: Int
  /// The number of times that a polled chip is read for one sample.
  public let looksPerSample: Int
  /// Whether the chip's interrupt line falls when a sample is ready, instead of rising.
  public let dataReadyFalls: Bool
  /// The bytes that the driver transfers to read the chip.
  let readout: BusReadout
  /// The supply current while the chip measures, mA.
  public let milliamperes: Double
  /// The supply current while the chip sleeps, mA.
  public let sleepMilliamperes: Double
  /// How an inertial sensor detects motion while it waits; `nil` if it cannot.
  public let wakeOnMotion: WakeOnMotion?
  /// The slowest and the fastest rate, samples per second.
  public let ratesHz: ClosedRange<Double>
  private let actualRate: @Sendable (_ requestedHz: Double) -> Double
  private let makeDriver: @Sendable (ChipConnection, Configuration) -> Driver
  private let putToSleep: @Sendable (I2CRegisters) throws(HardwareError) -> Void

  /// - Parameters:
  ///   - actualRate: returns the chip's rate for a requested one
  ///   - putToSleep: puts a chip in an unknown state to sleep
  init(
    name: String, title: String, addresses: [UInt8], identity: ChipIdentity, relatives: [UInt8] = [],
    provenAgainst: String,
    fifoSampleCount: Int = 0, leastFIFOSampleCount: Int? = nil, looksPerSample: Int = 1, dataReadyFalls: Bool = false,
    readout: BusReadout = .polled, milliamperes: Double,
    sleepMilliamperes: Double,
    ratesHz: ClosedRange<Double>, actualRate: @escaping @Sendable (_ requestedHz: Double) -> Double,
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

  /// The chip's actual rate for a requested rate, samples per second.
  public func rate(nearest requestedHz: Double) -> Double { actualRate(requestedHz) }

  /// The number of bus clocks per second that reading the chip takes.
  ///
  /// - Parameters:
  ///   - rateHz: samples a second
  ///   - burstRateHz: how often per second the driver empties the chip's FIFO, if there is one
  public func busClocksPerSecond(rateHz: Double, burstRateHz: Double = 0) -> Double {
    readout.clocks(rateHz: rateHz * Double(looksPerSample), burstRateHz: burstRateHz)
  }

  public func driver(_ connection: ChipConnection, _ configuration: Configuration) -> Driver {
    makeDriver(connection, configuration)
  }

  /// Puts a chip in an unknown state to sleep. Does nothing to a chip that its driver would refuse.
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
