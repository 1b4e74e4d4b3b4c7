import HardwareIO

/// Drives an inertial sensor: wakes and configures the chip and empties its FIFO in bursts, so that a thousand samples a second
/// do not take a thousand wake-ups.
public protocol InertialDriver: AnyObject {
  var counters: InertialCounters { get }
  /// Wakes the chip and starts sampling into the FIFO.
  func start() throws(HardwareError)
  /// Takes all samples that wait in the FIFO.
  ///
  /// Where the data-ready line is wired this is best called right after an edge.
  ///
  /// - Parameter batch: emptied, then filled
  func read(into batch: inout IMUBatch) throws(HardwareError)
  /// Puts the chip to sleep, whatever state it is in; an error only means that it is gone already.
  func stop()
}

/// What a driver of an inertial sensor has counted.
public struct InertialCounters: Equatable, Sendable {
  public var samples = 0
  /// Times the FIFO ran over, each losing what it held.
  public var overflows = 0
  /// Times a read of the FIFO was cut or repeated on the bus, each losing what it held.
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
