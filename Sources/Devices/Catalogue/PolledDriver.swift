import HardwareIO

/// Drives a sensor without a FIFO: it is asked for its latest measurement, one at a time.
public protocol PolledDriver<Sample>: AnyObject {
  associatedtype Sample: Sendable
  /// Makes sure that the chip is the right one, wakes it and has it measure.
  func start() throws(HardwareError)
  /// The latest measurement, if there is one that has not been taken yet, and if it is a good one.
  func read() throws(HardwareError) -> Sample?
  /// Puts the chip to sleep, whatever state it is in; an error only means that it is gone already.
  func stop()
}

/// How such a sensor is to measure.
public struct PolledConfiguration: Equatable, Sendable {
  /// Measurements a second, as wished; each chip has rates of its own.
  public var rateHz: Double

  public init(rateHz: Double) { self.rateHz = rateHz }
}
