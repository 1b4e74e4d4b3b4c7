import HardwareIO

/// Drives an inertial sensor. The driver wakes and configures the chip. If the chip has a FIFO, the driver empties it
/// in bursts, so that a thousand samples a second do not wake the processor a thousand times.
public protocol InertialDriver: AnyObject {
  var counters: InertialCounters { get }
  /// Whether a wired data-ready line has an edge for each sample. Valid after `start()`.
  var signalsSamples: Bool { get }
  /// Wakes the chip and starts sampling, into the FIFO if there is one.
  func start() throws(HardwareError)
  /// Reads the waiting samples, at most `IMUBatch.capacity`.
  ///
  /// If the data-ready line is wired, call this right after an edge.
  ///
  /// - Parameter batch: emptied, then filled
  func read(into batch: inout IMUBatch) throws(HardwareError)
  /// Puts the chip to sleep, whatever its state. Ignores errors, which mean that the chip no longer answers.
  func stop()
}

extension InertialDriver {
  public var signalsSamples: Bool { true }
}

/// The numbers of samples and losses that the driver of an inertial sensor has counted.
public struct InertialCounters: Equatable, Sendable {
  public var samples = 0
  /// The number of times that the FIFO overflowed, or that a gap showed that samples were lost before the read.
  public var overflows = 0
  /// The number of times that a read was damaged, or its values were not trustworthy, so that samples were dropped.
  public var misreads = 0

  public init() {}

  public static func + (a: InertialCounters, b: InertialCounters) -> InertialCounters {
    var sum = a
    sum.samples += b.samples
    sum.overflows += b.overflows
    sum.misreads += b.misreads
    return sum
  }
}

/// The properties of a chip that raises its interrupt line at the first motion, and draws microamperes until then.
public struct WakeOnMotion: Sendable {
  /// The supply current while the chip waits, mA.
  public let milliamperes: Double
  private let makeDriver: @Sendable (ChipConnection) -> any MotionDriver

  init(milliamperes: Double, makeDriver: @escaping @Sendable (ChipConnection) -> any MotionDriver) {
    self.milliamperes = milliamperes
    self.makeDriver = makeDriver
  }

  /// - Parameter connection: the chip's connection; the caller waits for the edges of its line
  public func driver(_ connection: ChipConnection) -> any MotionDriver { makeDriver(connection) }
}

/// Configures a chip to detect motion. On motion, the interrupt line becomes active, and stays active until the chip is
/// read. A board that moves all day therefore does not wake the processor all day.
public protocol MotionDriver: AnyObject {
  /// Configures the chip, whatever its state, to detect motion.
  func start() throws(HardwareError)
  /// Whether the chip has moved since `start` or the last call. After the call, the chip's line reports the next
  /// motion.
  ///
  /// - Throws: `unexpectedDevice` if the chip no longer detects motion, for example because its supply failed
  func takeMotion() throws(HardwareError) -> Bool
  /// Puts the chip to sleep. Ignores errors, which mean that the chip no longer answers.
  func stop()
}
