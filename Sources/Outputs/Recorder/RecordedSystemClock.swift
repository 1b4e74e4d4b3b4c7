import Guarding
import MonotonicTime
import Recording

/// Records how far the system's clock is ahead of the recording's clock, which is never set. The hub compares a
/// receiver's time with the system's clock, so a replay needs this difference.
///
/// The clock of a board without a real-time clock is hours behind at first, and is set once there is a network.
final class RecordedSystemClock: Sendable {
  /// The smallest change that is recorded, in nanoseconds.
  private static let least: Int64 = 10_000_000
  /// The difference is repeated at this interval, because a replay may begin anywhere.
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

  /// Records the difference if it has changed by at least `least`, or was recorded more than `interval` ago. Call this
  /// before recording data that the hub compared with the system's clock.
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
