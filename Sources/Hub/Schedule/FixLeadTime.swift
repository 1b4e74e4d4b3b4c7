import MonotonicTime

/// Predicts how early a receiver must be woken for a fix, from the times of its starts, and explains why.
struct FixLeadTime: Sendable {
  let now: MonotonicInstant
  /// The start of the rest; `nil` while the receiver works, or if unknown.
  let restingSince: MonotonicInstant?
  let times: AcquisitionTimes
  let restarts: RestartCosts

  func lead(_ schedule: Schedule, _ due: MonotonicInstant) -> Duration { lead(start(schedule, due)) }

  func lead(_ start: AcquisitionTimes.Start) -> Duration {
    let seconds = times.lead(to: start.grade, after: start.kind, firstFixSeconds: restarts[start.kind]?.seconds)
    return .nanoseconds(Int64(seconds * 1e9))
  }

  /// The lead times for a plan; no lead time if nothing is known. Many clients need the same kind of start, so each
  /// kind is computed once.
  static func leads(_ leadTime: FixLeadTime?) -> SchedulePlan.Lead {
    guard let leadTime else { return { _, _ in .zero } }
    var known: [AcquisitionTimes.Start: Duration] = [:]
    return { schedule, due in
      let start = leadTime.start(schedule, due)
      if let lead = known[start] { return lead }
      let lead = leadTime.lead(start)
      known[start] = lead
      return lead
    }
  }

  /// The kind of start that a fix needs. A receiver that works now may rest until then.
  func start(_ schedule: Schedule, _ due: MonotonicInstant) -> AcquisitionTimes.Start {
    AcquisitionTimes.Start(
      kind: RestartCosts.Kind(after: due.seconds(since: restingSince ?? now)), grade: .init(of: schedule.accuracyMetres)
    )
  }

  /// Why the receiver is woken this long before the fix, as a clause without a full stop.
  func reason(_ schedule: Schedule, _ due: MonotonicInstant) -> String {
    let start = start(schedule, due)
    let (kind, grade, lead) = (start.kind, start.grade, lead(start))
    let early = "woken \(min(lead, schedule.within).inSeconds.short) s before the fix is due"
    let aim = grade.radiusMetres.map { "to \($0.short) m" } ?? "to a fix"
    let known = times.last(to: grade, after: kind)
    guard known.count >= AcquisitionTimes.leastStarts, let least = known.min(), let most = known.max() else {
      return "\(early), because the hub knows too few \(kind.rawValue) starts"
    }
    let limit = lead > schedule.within ? ", limited by 'within'" : ""
    return "\(early), because the last \(known.count) \(kind.rawValue) starts took \(least.short) to \(most.short) s "
      + "\(aim)\(limit)"
  }
}
