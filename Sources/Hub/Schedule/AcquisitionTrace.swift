import MonotonicTime

/// The progress of a start of a device: the grades that its fixes have reached.
struct AcquisitionTrace: Sendable {
  let kind: RestartCosts.Kind
  let began: MonotonicInstant
  private var lastFixAt: MonotonicInstant?
  private var fixCount = 0
  private var reached: Set<AcquisitionTimes.Grade> = []

  init(_ kind: RestartCosts.Kind, at began: MonotonicInstant) {
    self.kind = kind
    self.began = began
  }

  /// - Parameters:
  ///   - fix: the time of the fix
  ///   - radiusMetres: the radius that contains the true position with a probability of 95 %; `nil` if unknown
  mutating func receive(
    fix: MonotonicInstant, radiusMetres: Double?, at now: MonotonicInstant, _ times: inout AcquisitionTimes
  ) {
    guard fix >= began, fix != lastFixAt else { return }
    lastFixAt = fix
    fixCount += 1
    guard fixCount >= SchedulePlan.leastFixes else { return }
    for grade in AcquisitionTimes.Grade.all where grade.isReached(by: radiusMetres) && reached.insert(grade).inserted {
      times.add(now.seconds(since: began), to: grade, after: kind)
    }
  }

  /// Records that a client has its fix, or has stopped waiting. In the second case the start takes at least this long.
  /// A start without any fix, as under a roof, is not recorded, because waking earlier would not help.
  mutating func settle(_ grade: AcquisitionTimes.Grade, at now: MonotonicInstant, _ times: inout AcquisitionTimes) {
    if lastFixAt != nil, reached.insert(grade).inserted { times.add(now.seconds(since: began), to: grade, after: kind) }
  }
}
