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
