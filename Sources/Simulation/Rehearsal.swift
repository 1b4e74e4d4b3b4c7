import Guarding
import MonotonicTime

/// Has the board of a simulation that runs move for a calibration. As long as it does, the vehicle stands where it was, and drives on
/// from there as if nothing had happened.
public final class Rehearsal: Sendable {
  struct Interval: Sendable {
    var practice: Practice
    var since: MonotonicInstant
    /// `nil` while it goes on.
    var until: MonotonicInstant?
  }

  private let intervals = Guarded<[Interval]>([])

  public init() {}

  /// The board moves like this from an instant on. What it did before ends.
  public func begin(_ practice: Practice, at now: MonotonicInstant) {
    intervals.withLock { intervals in
      Rehearsal.end(&intervals, at: now)
      intervals.append(Interval(practice: practice, since: now, until: nil))
    }
  }

  /// The vehicle drives on.
  public func end(at now: MonotonicInstant) { intervals.withLock { Rehearsal.end(&$0, at: now) } }

  private static func end(_ intervals: inout [Interval], at now: MonotonicInstant) {
    guard let last = intervals.indices.last, intervals[last].until == nil else { return }
    intervals[last].until = now
  }

  /// Until an instant, in order: chips also ask for what was a moment ago.
  func intervals(until instant: MonotonicInstant) -> [Interval] {
    intervals.withLock { $0 }.prefix { $0.since <= instant }.map { $0 }
  }
}
