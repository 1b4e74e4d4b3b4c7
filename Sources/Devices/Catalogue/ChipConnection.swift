import HardwareIO
import MonotonicTime

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
