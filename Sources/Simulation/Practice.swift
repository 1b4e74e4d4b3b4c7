import Fusion
import Glibc

/// What the board does in place of the vehicle, so that a calibration can be practised on it.
public enum Practice: Sendable {
  /// It lies still.
  case lies
  /// It lies for a while on each of its six sides.
  case tumbles
  /// It turns slowly through all directions.
  case turns

  /// How long it lies on a side, and how long it takes to the next one, in seconds.
  private static let (rest, move) = (4.0, 1.5)
  /// Roll and pitch of each side, in quarter turns, on the way from one to the next.
  private static let sides: [(roll: Double, pitch: Double)] = [(0, 0), (1, 0), (2, 0), (3, 0), (4, 1), (4, -1)]
  /// Seconds of a turn about the board's long axis, of one up and down, and of one about the vertical.
  private static let (rolling, pitching, yawing) = (17.0, 43.0, 101.0)

  /// Body to north, east, down.
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
      // It sets off and comes to rest smoothly.
      let share = moved * moved * (3 - 2 * moved)
      // Around the long axis four quarter turns are none.
      let roll = here.roll + ((next.roll == 0 && here.roll == 4 ? 4 : next.roll) - here.roll) * share
      let pitch = here.pitch + (next.pitch - here.pitch) * share
      return Quaternion(roll: roll * .pi / 2, pitch: pitch * .pi / 2, yaw: 0)
    }
  }
}
