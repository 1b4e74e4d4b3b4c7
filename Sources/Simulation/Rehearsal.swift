import Guarding
import MonotonicTime

/// Moves the board of a running simulation for a calibration. The vehicle stands still in the meantime, and afterwards
/// continues where it stopped.
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

  /// The motions that have begun by an instant, in order. Ended motions are included, because chips also measure at
  /// recent instants in the past.
  func intervals(until instant: MonotonicInstant) -> [Interval] {
    intervals.withLock { $0 }.prefix { $0.since <= instant }.map { $0 }
  }
}
