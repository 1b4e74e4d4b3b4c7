import HardwareIO
import MonotonicTime

/// The parts from which the driver of a chip is made.
public struct ChipConnection {
  public var bus: any I2CBus
  public var address: UInt8
  /// The chip's interrupt line, if it is wired, which rises or falls when a sample is ready.
  public var dataReady: (any GPIOEdgeInput)?
  public var clock: any MonotonicTimeSource
  /// Waits on the calling thread, for the chip to wake.
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

  /// When a measurement was made that is found to be new now: half a period ago, on average.
  func measuredAt(rateHz: Double) -> MonotonicInstant { clock.now.advanced(by: .nanoseconds(-Int64(0.5e9 / rateHz))) }
}
