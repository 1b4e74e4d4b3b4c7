import Devices
import Guarding
import Hub
import MonotonicTime
import Recording

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
