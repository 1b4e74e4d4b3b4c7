import HardwareIO
import MonotonicTime

/// The parts from which the driver of a chip is made.
public struct ChipConnection {
  public var bus: any I2CBus
  public var address: UInt8
  /// The chip's interrupt line, if it is wired. It changes when a sample is ready.
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

  /// The time of a measurement that is new now: half a period ago, on average.
  func measuredAt(rateHz: Double) -> MonotonicInstant { clock.now.advanced(by: .nanoseconds(-Int64(0.5e9 / rateHz))) }
}
