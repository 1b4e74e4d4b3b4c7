import MonotonicTime
import Publishing

/// A client with scheduled fixes, when its next fix is due, and when devices are woken for that fix.
public struct ScheduleReport: Equatable, Sendable {
  public var holder: String
  public var schedule: Schedule
  /// The degraded form of the request; `nil` if it is not degraded.
  public var degraded: Schedule?
  public var due: MonotonicInstant
  /// When devices are woken; `nil` if they are already awake, or need not wake.
  public var wake: MonotonicInstant?
  public var reason: String
}

extension FixClients {
  /// - Parameter isCollecting: whether the receivers are awake for the client only to collect ephemerides
  func report(of id: ID, _ leadTime: FixLeadTime, isCollecting: Bool) -> ScheduleReport? {
    guard let client = self[id], let due = plan.due(of: id), let phase = plan.phase(of: id),
      let wake = plan.wakeTime(of: id, lead: leadTime.lead),
      let reason = reason(of: id, leadTime, isCollecting: isCollecting)
    else { return nil }
    return ScheduleReport(
      holder: client.holders.label, schedule: client.schedule, degraded: degraded(id), due: due,
      wake: phase == .asleep && !plan.stands(id) ? wake : nil, reason: reason)
  }

  private func reason(of id: ID, _ leadTime: FixLeadTime, isCollecting: Bool) -> String? {
    guard let client = self[id], let schedule = plan.schedule(of: id), let due = plan.due(of: id) else { return nil }
    switch plan.phase(of: id) {
    case nil: return nil
    case .asleep where isCollecting, .holding where isCollecting:
      return "awake, to receive the satellites' orbits for the next starts"
    case .asleep where plan.stands(id):
      return client.known == nil
        ? "the board has not moved since the last fix, which is repeated" : "the last known position is fresh enough"
    case .asleep:
      guard let since = plan.pause(of: id)?.since else { return leadTime.reason(schedule, due) }
      let minutes = Int(leadTime.now.seconds(since: since) / 60)
      return "no fix since a search began \(minutes) min ago, so the search pauses"
    case .awake:
      return client.kept?.radiusMetres.map { "awake, at \($0.short) m so far" } ?? "awake, without a fix so far"
    case .holding(let isMet):
      return isMet ? "its fix was found before it is due" : "time ran out before it is due"
    }
  }
}
