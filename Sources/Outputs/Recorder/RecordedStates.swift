import Fusion
import Guarding
import MonotonicTime
import NMEA
import Recording

/// Records the fused state as `hub.sock` sends it, and its position in the form that map programs read.
final class RecordedStates: Sendable {
  private let states: RecordedJSON
  private let fixes: RecordedJSON
  private let time: RecordingTime
  private let lastPositionAt = Guarded<MonotonicInstant?>(nil)

  init(in inbox: RecordInbox, time: RecordingTime) {
    states = RecordedJSON("/state", .state, in: inbox)
    fixes = RecordedJSON("/fix", .locationFix, in: inbox)
    self.time = time
  }

  func append(_ state: FusedState) {
    states.append(at: state.at) { StateReport.write(state, to: &$0) }
    guard let position = state.position else { return }
    let isNew = lastPositionAt.withLock { last in
      defer { last = position.at }
      return last != position.at
    }
    guard isNew else { return }
    let utc = state.utc(at: position.at).map { UInt64(clamping: $0.nanosecondsSince1970) }
    fixes.append(at: state.at) { json in
      LocationFix.write(
        position.value, nanosecondsSince1970: utc ?? time.nanosecondsSince1970(at: position.at), to: &json)
    }
  }
}

/// A position in the form of Foxglove's schema `LocationFix`.
enum LocationFix {
  /// How much of the covariance is known.
  private enum Covariance: Int {
    case unknown = 0
    /// The variance of the height is missing.
    case approximated = 1
    case diagonalKnown = 2
  }

  static func write(_ position: FusedState.Position, nanosecondsSince1970 time: UInt64, to json: inout JSONWriter) {
    let horizontal = position.horizontalSigmaMetres.map { $0 * $0 }
    let vertical = position.verticalSigmaMetres.map { $0 * $0 }
    let covariance: Covariance =
      horizontal == nil ? .unknown : vertical == nil ? .approximated : .diagonalKnown
    json.beginObject()
    json.timestamp(nanosecondsSince1970: time)
    json.member("frame_id", literal: "board")
    json.member("latitude", position.latitudeDegrees, decimals: 9)
    json.member("longitude", position.longitudeDegrees, decimals: 9)
    json.member("altitude", position.altitudeHAEMetres ?? position.altitudeMSLMetres, decimals: 3)
    json.key("position_covariance")
    json.beginArray()
    // The matrix is written row by row; the axes are east, north and up.
    for index in 0..<9 {
      let variance = index == 8 ? vertical : index % 4 == 0 ? horizontal : 0
      json.number(variance ?? 0, decimals: 6)
    }
    json.endArray()
    json.member("position_covariance_type", covariance.rawValue)
    json.endObject()
  }
}
