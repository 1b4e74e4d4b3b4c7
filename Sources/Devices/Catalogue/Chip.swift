import HardwareIO
import MonotonicTime

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
  private let findProblem: @Sendable (IIOSystem) -> HardwareError?

  /// - Parameters:
  ///   - actualRate: returns the chip's rate for a requested one
  ///   - putToSleep: puts a chip to sleep, whatever its state
  ///   - findProblem: returns the result of `problem(in:)`
  init(
    name: String, title: String, addresses: [UInt8], identity: ChipIdentity, relatives: [UInt8] = [],
    provenAgainst: String,
    fifoSampleCount: Int = 0, leastFIFOSampleCount: Int? = nil, looksPerSample: Int = 1, dataReadyFalls: Bool = false,
    readout: BusReadout = .polled, milliamperes: Double,
    sleepMilliamperes: Double,
    ratesHz: ClosedRange<Double>, actualRate: @escaping @Sendable (_ requestedHz: Double) -> Double,
    makeDriver: @escaping @Sendable (ChipConnection, Configuration) -> Driver,
    putToSleep: @escaping @Sendable (I2CRegisters) throws(HardwareError) -> Void,
    wakeOnMotion: WakeOnMotion? = nil,
    findProblem: @escaping @Sendable (IIOSystem) -> HardwareError? = { _ in nil }
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
    self.findProblem = findProblem
  }

  /// The error with which a start would fail because the kernel cannot trigger the measurements of a chip that it
  /// drives; `nil` for none, for a missing chip, and for a chip that the hub's own driver reads. The search changes
  /// nothing.
  public func problem(in system: IIOSystem) -> HardwareError? { findProblem(system) }

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

  /// Puts a chip to sleep, whatever its state. Does nothing to a chip that its driver would refuse.
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

/// The bus, the address and the helpers through which a driver reaches its chip.
public struct ChipConnection {
  public var bus: any I2CBus
  public var address: UInt8
  /// The chip's interrupt line, which changes when a sample is ready; `nil` if it is not wired.
  public var dataReady: (any GPIOEdgeInput)?
  public var clock: any MonotonicTimeSource
  /// Blocks the calling thread while the chip wakes.
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

  /// The estimated time of a measurement that has just been found to be new: half a period ago, its average age.
  func measuredAt(rateHz: Double) -> MonotonicInstant { clock.now.advanced(by: .nanoseconds(-Int64(0.5e9 / rateHz))) }
}

extension [Double] {
  /// The index of the slowest rate that is at least 95 % of the requested one; the index of the fastest rate if there
  /// is none.
  ///
  /// - Precondition: the rates are in ascending order, and not empty
  func slowestRate(for requestedHz: Double) -> Int { firstIndex { $0 >= requestedHz * 0.95 } ?? count - 1 }
}

/// The bytes and reads that a driver needs to read its chip, from which the load of the bus follows.
public struct BusReadout: Sendable {
  /// The readout of a polled chip: its status, and up to seven bytes.
  static let polled = BusReadout(bytesPerSample: 8, readsPerSample: 2, bytesPerBurst: 0, readsPerBurst: 0)

  /// The clocks of a read apart from its data: address, register and repeated address with their acknowledges, and the
  /// start and stop conditions.
  private static let clocksPerRead = 30.0
  private static let clocksPerByte = 9.0

  var bytesPerSample: Int
  /// The reads per sample, in addition to the reads per burst.
  var readsPerSample: Int
  /// The bytes per burst, in addition to the samples.
  var bytesPerBurst: Int
  var readsPerBurst: Int

  /// - Parameters:
  ///   - bytesPerSample: the bytes of a sample in the FIFO
  ///   - bytesPerBurst: the bytes that state how many samples wait
  ///   - readsPerBurst: the reads per burst: one for the number of samples, and one for all samples
  init(bytesPerSample: Int, readsPerSample: Int = 0, bytesPerBurst: Int = 2, readsPerBurst: Int = 2) {
    self.bytesPerSample = bytesPerSample
    self.readsPerSample = readsPerSample
    self.bytesPerBurst = bytesPerBurst
    self.readsPerBurst = readsPerBurst
  }

  /// The number of bus clocks per second that the readout takes.
  ///
  /// - Parameters:
  ///   - rateHz: samples a second
  ///   - burstRateHz: the number of times per second that the FIFO is emptied
  func clocks(rateHz: Double, burstRateHz: Double) -> Double {
    let sample = Double(bytesPerSample) * BusReadout.clocksPerByte + Double(readsPerSample) * BusReadout.clocksPerRead
    let burst = Double(bytesPerBurst) * BusReadout.clocksPerByte + Double(readsPerBurst) * BusReadout.clocksPerRead
    return rateHz * sample + burstRateHz * burst
  }
}
