import HardwareIO

/// Drives an inertial sensor. The driver wakes and configures the chip. If the chip has a FIFO, the driver empties it
/// in bursts, so that a thousand samples a second do not wake the processor a thousand times.
public protocol InertialDriver: AnyObject {
  var counters: InertialCounters { get }
  /// Whether a wired data-ready line has an edge for each sample. Valid after `start()`.
  var signalsSamples: Bool { get }
  /// Wakes the chip and starts sampling, into the FIFO if there is one.
  func start() throws(HardwareError)
  /// Takes the waiting samples, at most `IMUBatch.capacity`.
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
