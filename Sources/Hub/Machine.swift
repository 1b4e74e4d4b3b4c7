import CLinux
import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// The connections to devices: the hardware, the power rails and the clocks, with the records of earlier use. It
/// outlives reloads of the board file.
public final class Machine: Sendable {
  public let hardware: any Hardware
  public let clock: any MonotonicTimeSource
  /// The system clock, nanoseconds since 1970.
  public let systemTime: @Sendable () -> Int64
  /// Makes the devices.
  let source: any DeviceSource
  /// Notices hanging readers.
  public let supervisor: Supervisor
  /// Fires with a device's ID when the device was plugged in or should be tried again.
  public let retryHint = Trigger<String>()
  public let usageHistories: UsageHistories
  /// The data of receivers whose memory is lost while they are off.
  public let receiverKnowledge = ReceiverKnowledgeStore()
  /// The time, if it is certain enough to be sent to a receiver.
  let hostTime: HostTime
  /// The totals of devices that were changed or removed, by ID.
  private let totals = Guarded<[String: RunTotals]>([:])
  /// The devices of earlier boards that have not stopped yet.
  let leaving = LeavingDevices()
  private let suppliesBefore = Guarded<SupplyTimes?>(nil)
  private let rails = Guarded<[Board.Power.Switch: PowerRail]>([:])
  private let lifetime = Lifetime()

  public convenience init(
    hardware: any Hardware, clock: any MonotonicTimeSource = MonotonicClock(),
    systemTime: @escaping @Sendable () -> Int64 = { clinux_realtime_ns() }, supervisor: Supervisor = Supervisor()
  ) {
    self.init(
      hardware: hardware, source: ConnectedDevices(), clock: clock, systemTime: systemTime, supervisor: supervisor)
  }

  init(
    hardware: any Hardware, source: any DeviceSource, clock: any MonotonicTimeSource,
    systemTime: @escaping @Sendable () -> Int64, supervisor: Supervisor = Supervisor()
  ) {
    self.source = source
    self.hardware = hardware
    self.supervisor = supervisor
    self.clock = clock
    self.systemTime = systemTime
    usageHistories = UsageHistories(systemTime: systemTime)
    hostTime = HostTime(clock: clock, systemTime: systemTime)
    // Subscribe before any user of the time does, so that the time is forgotten first.
    clock.onResume { [hostTime, receiverKnowledge] slept in
      hostTime.forget()
      receiverKnowledge.age(by: slept)
    }.store(in: lifetime)
  }

  /// The rail of a switch, shared by all devices that name it. A permanent supply has its own rail.
  func rail(of switch: Board.Power.Switch) -> PowerRail {
    if `switch` == .none { return PowerRail(.none, hardware: hardware, clock: clock) }
    return rails.withLock { rails in
      if let rail = rails[`switch`] { return rail }
      let rail = PowerRail(`switch`, hardware: hardware, clock: clock)
      if let before = suppliesBefore.withLock({ $0 }) { restore(before, to: rail) }
      rails[`switch`] = rail
      return rail
    }
  }

  /// The rails with a switch, also those whose devices have left the board file: their lines may still be high.
  var switchedRails: [PowerRail] { rails.withLock { Array($0.values) } }

  /// The times since which the switched supplies are off.
  public var supplyTimes: SupplyTimes {
    rails.withLock { rails in
      var times = SupplyTimes(at: clock.now)
      for case (.gpio(let line, _), let rail) in rails {
        let supply = rail.supply.value
        if !supply.isOn, let since = supply.since { times.offSince["\(line)"] = since.nanoseconds }
      }
      return times
    }
  }

  /// Restores the times at which a previous run of the hub switched supplies off. The minimum time off counts from these
  /// times.
  public func restore(_ before: SupplyTimes) {
    guard before.at <= clock.now.nanoseconds else { return }
    suppliesBefore.withLock { $0 = before }
    for rail in rails.withLock({ Array($0.values) }) { restore(before, to: rail) }
  }

  private func restore(_ before: SupplyTimes, to rail: PowerRail) {
    guard case .gpio(let line, _) = rail.switch else { return }
    let now = clock.now
    if let since = before.offSince["\(line)"], (0...now.nanoseconds).contains(since) {
      rail.wasOff(since: MonotonicInstant(nanoseconds: since))
    } else if before.isRunning {
      // The previous hub was killed, so its supplies may have been on until now.
      rail.wasOff(since: now)
    }
  }

  func note(_ totals: RunTotals, of id: String) { self.totals.withLock { $0[id] = totals } }

  func totals(of id: String) -> RunTotals? { totals.withLock { $0[id] } }
}

/// The times since which the switched supplies of a machine are off, for the next run of the hub.
///
/// Instants are the kernel's, which count from the machine's start. After a restart of the machine, stored instants are
/// in the future and therefore ignored. If one happens to be in the past, it makes a device wait for its minimum time
/// off once more, at most.
public struct SupplyTimes: Codable, Equatable, Sendable {
  /// When these times were recorded, nanoseconds.
  public var at: Int64
  /// Whether the hub was running, so that its supplies may have been on.
  public var isRunning = false
  /// The times by line name, nanoseconds.
  public var offSince: [String: Int64] = [:]

  public init(at instant: MonotonicInstant, isRunning: Bool = false) {
    at = instant.nanoseconds
    self.isRunning = isRunning
  }
}
