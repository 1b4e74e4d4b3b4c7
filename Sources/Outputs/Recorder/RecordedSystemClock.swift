import Guarding
import MonotonicTime
import Recording

/// How far the system's clock has moved from the recording's, which goes on as it began: what a receiver says of the time is held
/// against the system's clock, and a replay has to know that.
///
/// A board without a clock of its own begins hours behind, and is set once it is in a network.
final class RecordedSystemClock: Sendable {
  /// Less makes no difference to anybody.
  private static let least: Int64 = 10_000_000
  /// A replay may begin anywhere.
  private static let interval = Duration.seconds(60)

  private struct Said {
    var aheadNanoseconds: Int64
    var at: MonotonicInstant
  }

  private let channel: RecordedJSON
  private let time: RecordingTime
  private let said = Guarded<Said?>(nil)

  init(in inbox: RecordInbox, time: RecordingTime) {
    channel = RecordedJSON("/clock", .clock, in: inbox)
    self.time = time
  }

  /// Looks at it, before something is recorded that was judged by it.
  func look(before instant: MonotonicInstant) {
    guard let ahead = time.systemAheadNanoseconds else { return }
    let isNews = said.withLock { said in
      if let said, (ahead &- said.aheadNanoseconds).magnitude < RecordedSystemClock.least,
        instant - said.at < RecordedSystemClock.interval
      {
        return false
      }
      said = Said(aheadNanoseconds: ahead, at: instant)
      return true
    }
    guard isNews else { return }
    channel.append(at: instant, receivedAt: instant, isWritten: false) { json in
      json.beginObject()
      json.member("aheadNanoseconds", Int(ahead))
      json.monotonic(instant)
      json.endObject()
    }
  }
}
