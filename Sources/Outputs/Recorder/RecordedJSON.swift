import Guarding
import MonotonicTime
import Recording

/// A channel of JSON objects.
///
/// An object is encoded on the thread that produces it, into reused memory. This costs two microseconds for each state,
/// ten times a second. To encode on the writer's thread instead would need a second queue, for values that contain
/// reference-counted objects.
final class RecordedJSON: Sendable {
  private let json: Guarded<JSONWriter>
  private let inbox: RecordInbox
  private let channel: Int

  init(_ topic: String, _ schema: RecordedChannel.Schema, in inbox: RecordInbox) {
    var json = JSONWriter(capacity: 2048)
    json.lineEnd = ""
    self.json = Guarded(json)
    self.inbox = inbox
    channel = inbox.register(RecordedChannel(topic: topic, messageEncoding: "json", schema: schema))
  }

  /// Encodes an object with `encode`, and adds it to the channel.
  ///
  /// - Parameters:
  ///   - receivedAt, isWritten: see `RecordInbox.append`
  func append(
    at stamp: MonotonicInstant, receivedAt: MonotonicInstant? = nil, isWritten: Bool = true,
    _ encode: (inout JSONWriter) -> Void
  ) {
    json.withLock { json in
      json.removeAll()
      encode(&json)
      inbox.append(
        UnsafeRawBufferPointer(json.bytes), to: channel, at: stamp, receivedAt: receivedAt, isWritten: isWritten)
    }
  }
}

extension JSONWriter {
  /// Writes a time as the member `timestamp`, in the form of Foxglove's schemas.
  mutating func timestamp(nanosecondsSince1970 time: UInt64) {
    key("timestamp")
    beginObject()
    member("sec", Int(time / 1_000_000_000))
    member("nsec", Int(time % 1_000_000_000))
    endObject()
  }

  /// Writes the CLOCK_MONOTONIC timestamp of a sample as the member `monotonic`, in seconds.
  mutating func monotonic(_ instant: MonotonicInstant) {
    member("monotonic", Double(instant.nanoseconds) / 1e9, decimals: 9)
  }
}
