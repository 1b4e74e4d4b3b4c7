import Guarding
import MonotonicTime
import Recording

/// A channel of JSON objects.
///
/// They are encoded on the thread that has them, into memory that is used again: two microseconds for a state ten times a second.
/// The writer's thread would have to be handed the values themselves, in a second queue of another kind, and the values hold on
/// to objects that are counted.
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

  /// - Parameters:
  ///   - receivedAt, isWritten: as the inbox's
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
  /// An instant as Foxglove's schemas have it.
  mutating func timestamp(nanosecondsSince1970 time: UInt64) {
    key("timestamp")
    beginObject()
    member("sec", Int(time / 1_000_000_000))
    member("nsec", Int(time % 1_000_000_000))
    endObject()
  }

  /// The stamp of a sample, in seconds.
  mutating func monotonic(_ instant: MonotonicInstant) {
    member("monotonic", Double(instant.nanoseconds) / 1e9, decimals: 9)
  }
}
