import Devices
import Guarding
import Hub
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

/// Records the output of the receivers byte for byte, each receiver in its own channel, and the inputs of the fusion.
struct RecordedDevices: HubRecorder {
  /// Bytes are recorded with a time slightly before they were read, so that they precede the epoch that they
  /// complete. In a replay, the satellites of an epoch are then known when the epoch is fused.
  private static let lead = Duration.microseconds(1)

  let inbox: RecordInbox
  let systemClock: RecordedSystemClock

  func sentences(of id: String) -> @Sendable (ReceivedBytes) -> Void {
    let channel = inbox.register(RecordedChannel(topic: "/receiver/\(id)/raw", messageEncoding: "nmea0183"))
    return { [inbox, systemClock] sentences in
      let instant = sentences.readAt.advanced(by: .zero - RecordedDevices.lead)
      systemClock.look(before: instant)
      sentences.bytes.withUnsafeBytes {
        inbox.append($0, to: channel, at: sentences.beganAt, receivedAt: instant)
      }
    }
  }

  func inputs(on board: Board) -> @Sendable (FusionInput, MonotonicInstant) -> Void {
    let inputs = RecordedInputs(of: board, in: inbox)
    return { inputs.append($0, at: $1) }
  }
}
