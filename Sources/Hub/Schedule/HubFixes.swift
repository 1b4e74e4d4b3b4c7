import Fusion
import MonotonicTime
import Publishing

extension Hub {
  /// Scheduled fixes. A subscription wakes the receivers for each fix. The receivers sleep as soon as the fix is good
  /// enough.
  public func fixes(on schedule: Schedule) -> Deferred<RequestedFix, Never> {
    fixes(on: MutableProperty(schedule).readOnly)
  }

  /// Fixes on a schedule that the client can change. After a change, the next fix is due one interval later.
  public func fixes(on schedule: Property<Schedule>) -> Deferred<RequestedFix, Never> {
    fixPlanner.fixes(on: schedule)
  }

  /// Tries a device at once that has been plugged in, even if its reader waits before the next attempt, or if no client
  /// holds it because the search for a position pauses.
  public func hasAppeared(_ device: DeviceDescription) {
    machine.retryHint.activate(device.id)
    if receivers.candidates.contains(where: { $0.description.id == device.id }) { fixPlanner.receiverHasAppeared() }
  }

  /// The receiver whose starts determine how early to wake: the one that gives the fixes, or gave the last one.
  var fixMonitor: DeviceMonitor? { receivers.taken?.reader.monitor }

  var fixHistory: UsageHistory? { fixMonitor?.usageHistory }

  private var fixMonitors: [DeviceMonitor] { receivers.candidates.map(\.reader.monitor) }

  /// Keeps the receivers awake.
  ///
  /// - Parameter holders: all clients whose fix is due
  func leaseForFixes(as holders: Holders) -> Subscription {
    states.lease(on: [.position]).subscribe(as: holders, receiveValue: { _ in })
  }

  /// Takes or ends leases of scheduled fixes.
  ///
  /// - Parameter nextWake: the next wake of the receivers, if the change releases them and there is a further fix
  func changeScheduledLeases<Result>(nextWake: MonotonicInstant?, _ change: () -> Result) -> Result {
    for monitor in fixMonitors { monitor.expectWake(at: nextWake) }
    return change()
  }

  /// Reports the time of the next scheduled wake to the receivers' monitors. A receiver in its idle timeout then
  /// decides again how long to stay on.
  func expectWake(at instant: MonotonicInstant?) {
    for receiver in receivers.candidates.map(\.reader) where receiver.monitor.expectWake(at: instant) {
      receiver.device.source.reconsiderIdleTimeout()
    }
  }

  /// Whether a receiver is awake for a holder.
  ///
  /// - Parameter besidesForFixes: whether to ignore the holders of scheduled fixes
  func receiversAreHeld(besidesForFixes: Bool) -> Bool {
    fixMonitors.contains { $0.isWanted { !besidesForFixes || $0.purpose != .schedule } }
  }

  /// The limits that the receivers' budgets and the battery set on fixes.
  var degradation: Degradation { fixMonitors.reduce(battery.degradation) { $0.and($1.degradation) } }

  func leadTime(at now: MonotonicInstant) -> FixLeadTime {
    FixLeadTime(
      now: now, restingSince: fixMonitor?.restingSince, times: fixHistory?.acquisitions ?? AcquisitionTimes(),
      restarts: fixHistory?.learned.restarts ?? RestartCosts())
  }
}

extension Hub {
  /// Begins to learn from a start; `nil` if the receiver does not rest.
  func traceOfStart(at now: MonotonicInstant) -> AcquisitionTrace? {
    fixMonitor?.restingSince.map { AcquisitionTrace(RestartCosts.Kind(after: now.seconds(since: $0)), at: now) }
  }

  /// Learns from the start in progress, if there is one.
  func learn(
    from trace: inout AcquisitionTrace?, _ take: (inout AcquisitionTrace, inout AcquisitionTimes) -> Void
  ) {
    guard var start = trace else { return }
    fixHistory?.learnAcquisitions { take(&start, &$0) }
    trace = start
  }

  /// Performs the effects that an event had on the clients. It is called under the planner's lock.
  func perform(_ effects: [FixClients.Effect], during trace: inout AcquisitionTrace?, at now: MonotonicInstant) {
    for effect in effects {
      switch effect {
      case .settled(let grade): learn(from: &trace) { $0.settle(grade, at: now, &$1) }
      case .look: registry.value.motion?.look()
      }
    }
  }
}

extension Holder {
  /// The holder as it appears while it holds receivers for a scheduled fix: `log (position)`.
  var forFix: Holder {
    let wanting = wanting([.position])
    return wanting.labelled(wanting.label, purpose: .schedule)
  }
}
