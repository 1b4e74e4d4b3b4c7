import HardwareIO

/// Drives a sensor without a FIFO, and reads one measurement at a time.
public protocol PolledDriver<Sample>: AnyObject {
  associatedtype Sample: Sendable
  /// Checks the chip's identity, wakes it and starts measuring.
  func start() throws(HardwareError)
  /// The latest measurement; `nil` if it is not new or not valid.
  func read() throws(HardwareError) -> Sample?
  /// Puts the chip to sleep, whatever its state. Ignores errors, which mean that the chip no longer answers.
  func stop()
}

/// The configuration of a polled sensor.
public struct PolledConfiguration: Equatable, Sendable {
  /// The requested measurements per second; each chip has its own rates.
  public var rateHz: Double

  public init(rateHz: Double) { self.rateHz = rateHz }
}
