import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// What the devices are connected to: the hardware, its rails and the clock. It outlives the board files that are read one
/// after the other.
public final class Machine: Sendable {
  public let hardware: any Hardware
  public let clock: any MonotonicTimeSource
  /// Activated with a device's ID when it was plugged in or should be tried again.
  public let retryHint = Trigger<String>()
  private let rails = Guarded<[Board.Power.Switch: PowerRail]>([:])

  public init(hardware: any Hardware, clock: any MonotonicTimeSource = MonotonicClock()) {
    self.hardware = hardware
    self.clock = clock
  }

  /// The rail of a switch, one for all who name it. What is always supplied has a rail of its own.
  func rail(of switch: Board.Power.Switch) -> PowerRail {
    if `switch` == .none { return PowerRail(.none, hardware: hardware, clock: clock) }
    return rails.withLock { rails in
      if let rail = rails[`switch`] { return rail }
      let rail = PowerRail(`switch`, hardware: hardware, clock: clock)
      rails[`switch`] = rail
      return rail
    }
  }
}
