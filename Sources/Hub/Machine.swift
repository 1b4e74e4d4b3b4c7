import CLinux
import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// What the devices are connected to: the hardware, its rails and the clocks; or else a recording. It outlives the board files that are read one
/// after the other.
public final class Machine: Sendable {
  public let hardware: any Hardware
  public let clock: any MonotonicTimeSource
  /// The system's clock, nanoseconds since 1970.
  public let systemTime: @Sendable () -> Int64
  /// Where measurements come from in place of devices; `nil` where there are devices.
  public let replay: ReplayFeed?
  /// Activated with a device's ID when it was plugged in or should be tried again.
  public let retryHint = Trigger<String>()
  /// What is known of the power of its devices beyond this run.
  public let books: PowerBooks
  /// What its receivers knew whose memory nothing keeps while they are off.
  public let receiverKnowledge = ReceiverKnowledgeStore()
  /// Whether the time is known.
  let hostTime: HostTime
  /// What its devices have come to that were changed or taken away, by their IDs.
  private let totals = Guarded<[String: RunTotals]>([:])
  private let rails = Guarded<[Board.Power.Switch: PowerRail]>([:])

  public init(
    hardware: any Hardware, clock: any MonotonicTimeSource = MonotonicClock(),
    systemTime: @escaping @Sendable () -> Int64 = { clinux_realtime_ns() }
  ) {
    self.hardware = hardware
    self.clock = clock
    self.systemTime = systemTime
    books = PowerBooks(systemTime: systemTime)
    hostTime = HostTime(clock: clock, systemTime: systemTime)
    replay = nil
  }

  /// A machine whose devices say what they said when they were recorded. Nothing is powered for that.
  ///
  /// - Parameters:
  ///   - clock: shows when that was, as `systemTime` does
  public init(
    replaying replay: ReplayFeed, clock: any MonotonicTimeSource, systemTime: @escaping @Sendable () -> Int64
  ) {
    hardware = NoHardware()
    self.clock = clock
    self.systemTime = systemTime
    books = PowerBooks(systemTime: systemTime)
    hostTime = HostTime(clock: clock, systemTime: systemTime)
    self.replay = replay
  }

  /// The rail of a switch, one for all who name it. What is always supplied has a rail of its own.
  func rail(of switch: Board.Power.Switch) -> PowerRail {
    if `switch` == .none || replay != nil { return PowerRail(.none, hardware: hardware, clock: clock) }
    return rails.withLock { rails in
      if let rail = rails[`switch`] { return rail }
      let rail = PowerRail(`switch`, hardware: hardware, clock: clock)
      rails[`switch`] = rail
      return rail
    }
  }

  func note(_ totals: RunTotals, of id: String) { self.totals.withLock { $0[id] = totals } }

  func totals(of id: String) -> RunTotals? { totals.withLock { $0[id] } }
}
