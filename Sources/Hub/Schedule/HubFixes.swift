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

  /// Who holds receivers for a fix.
  static func holderOfFix(_ name: String) -> String { holder(name, of: [.position]) }

  /// The receiver by which it is told how early to wake: it gives the fixes, or has given the last.
  var fixMonitor: DeviceMonitor? { receivers.taken?.reader.monitor }

  var fixBook: PowerBook? { fixMonitor?.book }

  private var fixMonitors: [DeviceMonitor] { receivers.candidates.map(\.reader.monitor) }

  /// What is fused while somebody has devices awake. Wakes nothing.
  var overheardStates: LazyPublisher<FusedState, Never> { fused }

  /// Has the receivers awake, for all who are to have a fix.
  func leaseForFixes() -> Subscription {
    waker(Set([StatePart.position]).kinds(on: board)).subscribe(as: ScheduledFixes.name, receiveValue: { _ in })
  }

  /// Takes or ends leases of fixes on a schedule.
  ///
  /// - Parameter nextWake: when the receivers will be woken next, if this lets them go and somebody wants a fix after it
  func changeScheduledLeases<Result>(nextWake: MonotonicInstant?, _ change: () -> Result) -> Result {
    let monitors = fixMonitors
    for monitor in monitors {
      monitor.expectWake(at: nextWake)
      monitor.changes(onSchedule: true)
    }
    defer { for monitor in monitors { monitor.changes(onSchedule: false) } }
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
    var derived = derivedActivities
    // These are one, whoever they are.
    derived[ScheduledFixes.name] = nil
    var consumers = Consumers(of: derived)
    return fixMonitors.contains { monitor in
      consumers.behind(monitor.holders).contains { !besidesForFixes || $0 != ScheduledFixes.name }
    }
  }

  /// What the receivers' budgets leave of wishes for fixes.
  var relaxation: Relaxation { fixMonitors.reduce(.none) { $0.and($1.relaxation) } }

  func forecast(at now: MonotonicInstant) -> FixForecast {
    FixForecast(
      now: now, restingSince: fixMonitor?.restingSince, times: fixBook?.acquisitions ?? AcquisitionTimes(),
      restarts: fixBook?.learned.restarts ?? RestartCosts())
  }
}
