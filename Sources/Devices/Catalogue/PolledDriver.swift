import HardwareIO

/// Drives a sensor without a FIFO, and reads one measurement at a time.
public protocol PolledDriver<Sample>: AnyObject {
  associatedtype Sample: Sendable
  /// Checks the chip's identity, wakes it and starts measuring.
  func start() throws(HardwareError)
  /// The latest measurement, if it is new and valid.
  func read() throws(HardwareError) -> Sample?
  /// Puts the chip to sleep, whatever its state. An error only means that the chip is gone already.
  func stop()
}

/// The configuration of a polled sensor.
public struct PolledConfiguration: Equatable, Sendable {
  /// The requested measurements per second; each chip has its own rates.
  public var rateHz: Double

  public init(rateHz: Double) { self.rateHz = rateHz }
}
