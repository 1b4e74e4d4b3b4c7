import Fusion
import Glibc
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

/// A motion of the board that replaces the vehicle's motion, for practising a calibration.
public enum Practice: Sendable {
  /// The board is at rest.
  case lies
  /// The board rests on each of its six sides in turn.
  case tumbles
  /// The board rotates slowly through all directions.
  case turns

  /// The time for which the board rests on a side, and the time of the move to the next side, in seconds.
  private static let (rest, move) = (4.0, 1.5)
  /// The roll and pitch of each side in quarter turns, in the order in which they follow each other.
  private static let sides: [(roll: Double, pitch: Double)] = [(0, 0), (1, 0), (2, 0), (3, 0), (4, 1), (4, -1)]
  /// The periods in seconds of the rotation about the long axis, of the pitching motion, and of the rotation about
  /// the vertical.
  private static let (rolling, pitching, yawing) = (17.0, 43.0, 101.0)

  /// The rotation from body axes to north, east, down.
  func attitude(at seconds: Double) -> Quaternion {
    switch self {
    case .lies: return Quaternion(roll: 0, pitch: 0, yaw: 0)
    case .turns:
      let turn = 2 * Double.pi * seconds
      return Quaternion(
        roll: turn / Practice.rolling, pitch: .pi / 2 * sin(turn / Practice.pitching), yaw: turn / Practice.yawing)
    case .tumbles:
      let (sides, period) = (Practice.sides, Practice.rest + Practice.move)
      let steps = max(0, seconds) / period
      let side = Int(steps) % sides.count
      let (here, next) = (sides[side], sides[(side + 1) % sides.count])
      let moved = min(1, max(0, (steps - steps.rounded(.down)) * period - Practice.rest) / Practice.move)
      // The motion starts and ends smoothly.
      let share = moved * moved * (3 - 2 * moved)
      // Four quarter turns about the long axis are equal to none.
      let roll = here.roll + ((next.roll == 0 && here.roll == 4 ? 4 : next.roll) - here.roll) * share
      let pitch = here.pitch + (next.pitch - here.pitch) * share
      return Quaternion(roll: roll * .pi / 2, pitch: pitch * .pi / 2, yaw: 0)
    }
  }
}
