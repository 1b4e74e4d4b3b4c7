import Guarding
import MonotonicTime

/// Moves the board of a running simulation for a calibration. In the meantime the vehicle stands still, and afterwards
/// it continues as if nothing had happened.
public final class Rehearsal: Sendable {
  struct Interval: Sendable {
    var practice: Practice
    var since: MonotonicInstant
    /// The end of the motion; `nil` while it continues.
    var until: MonotonicInstant?
  }

  private let intervals = Guarded<[Interval]>([])

  public init() {}

  /// Begins a motion of the board, and ends the previous one.
  public func begin(_ practice: Practice, at now: MonotonicInstant) {
    intervals.withLock { intervals in
      Rehearsal.end(&intervals, at: now)
      intervals.append(Interval(practice: practice, since: now, until: nil))
    }
  }

  /// Ends the motion, so that the vehicle continues.
  public func end(at now: MonotonicInstant) { intervals.withLock { Rehearsal.end(&$0, at: now) } }

  private static func end(_ intervals: inout [Interval], at now: MonotonicInstant) {
    guard let last = intervals.indices.last, intervals[last].until == nil else { return }
    intervals[last].until = now
  }

  /// The motions until an instant, in order, because chips also ask for the recent past.
  func intervals(until instant: MonotonicInstant) -> [Interval] {
    intervals.withLock { $0 }.prefix { $0.since <= instant }.map { $0 }
  }
}
