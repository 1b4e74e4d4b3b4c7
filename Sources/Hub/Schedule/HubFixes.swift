import Fusion
import MonotonicTime
import Publishing

extension Hub {
  /// A fix now and then. Subscribing has the receivers woken for each, and asleep between; they sleep as soon as the fix is good
  /// enough.
  public func fixes(on schedule: Schedule) -> Deferred<ScheduledFix, Never> {
    fixes(on: MutableProperty(schedule).readOnly)
  }

  /// The same on a schedule that its owner changes: the next fix is due so long from then.
  public func fixes(on schedule: Property<Schedule>) -> Deferred<ScheduledFix, Never> {
    scheduledFixes.fixes(on: schedule)
  }

  /// The receiver by which it is told how early to wake: it gives the fixes, or has given the last.
  var fixMonitor: DeviceMonitor? { receivers.taken?.reader.monitor }

  var fixBook: PowerBook? { fixMonitor?.book }

  private var fixMonitors: [DeviceMonitor] { receivers.candidates.map(\.reader.monitor) }

  /// What is fused while somebody has devices awake. Wakes nothing.
  var overheardStates: LazyPublisher<FusedState, Never> { fused }

  /// Has the receivers awake.
  ///
  /// - Parameter holders: all who are to have a fix
  func leaseForFixes(as holders: Holders) -> Subscription {
    waker(Set([StatePart.position]).kinds(on: board)).subscribe(as: holders, receiveValue: { _ in })
  }

  /// Takes or ends leases of fixes on a schedule.
  ///
  /// - Parameter nextWake: when the receivers will be woken next, if this lets them go and somebody wants a fix after it
  func changeScheduledLeases<Result>(nextWake: MonotonicInstant?, _ change: () -> Result) -> Result {
    for monitor in fixMonitors { monitor.expectWake(at: nextWake) }
    return change()
  }

  /// Has whoever else leaves the receivers know when they are woken next, and those that are on for that.
  func expectWake(at instant: MonotonicInstant?) {
    for receiver in receivers.candidates.map(\.reader) where receiver.monitor.expectWake(at: instant) {
      receiver.device.source.reconsiderLinger()
    }
  }

  /// Whether a receiver is awake for somebody.
  ///
  /// - Parameter besidesForFixes: for somebody else than those who are to have a fix
  func receiversAreHeld(besidesForFixes: Bool) -> Bool {
    fixMonitors.contains { $0.isWanted { !besidesForFixes || $0.purpose != .schedule } }
  }

  /// What the receivers' budgets leave of wishes for fixes.
  var relaxation: Relaxation { fixMonitors.reduce(.none) { $0.and($1.relaxation) } }

  func forecast(at now: MonotonicInstant) -> FixForecast {
    FixForecast(
      now: now, restingSince: fixMonitor?.restingSince, times: fixBook?.acquisitions ?? AcquisitionTimes(),
      restarts: fixBook?.learned.restarts ?? RestartCosts())
  }
}

extension Holder {
  /// As it holds receivers for a fix on a schedule: `log (position)`.
  var forFix: Holder {
    let wanting = wanting([.position])
    return wanting.labelled(wanting.label, purpose: .schedule)
  }
}
