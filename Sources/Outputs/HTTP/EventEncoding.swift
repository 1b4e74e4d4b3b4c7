import Guarding
import MonotonicTime
import NIOCore

/// Encodes each value as a server-sent event once for all clients.
final class EventEncoding: Sendable {
  private struct State: ~Copyable {
    var at: MonotonicInstant?
    var json = JSONWriter(capacity: 2048)
    /// The latest event. The queues in which it waits share its memory.
    var event = ByteBuffer()
  }

  private let name: String?
  private let state = Guarded(State())

  /// - Parameter name: the event's name; without a name, browsers call it `message`
  init(named name: String? = nil) { self.name = name }

  /// The event for the value of one instant.
  ///
  /// - Parameter encode: writes the value as one line; not called if the event for this instant exists
  func event(at instant: MonotonicInstant, encode: (inout JSONWriter) -> Void) -> ByteBuffer {
    state.withLock { state in
      if state.at == instant { return state.event }
      state.json.removeAll()
      encode(&state.json)
      var event = ByteBuffer()
      event.reserveCapacity(state.json.count + 64)
      if let name { event.writeString("event: \(name)\n") }
      event.writeString("id: \(instant.nanoseconds)\ndata: ")
      event.writeBytes(state.json.bytes)
      // The value's line end also ends the field, and an empty line ends the event.
      event.writeString("\n")
      state.at = instant
      state.event = event
      return event
    }
  }
}
