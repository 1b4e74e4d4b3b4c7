import Guarding
import MonotonicTime

/// Encodes each value once for all clients.
final class SharedEncoding: Sendable {
  private struct State: ~Copyable {
    var at: MonotonicInstant?
    /// The latest value; its memory is reused for the next one.
    var json = JSONWriter(capacity: 2048)
  }

  private let state: Guarded<State>

  init(lineEnd: StaticString = "\n") {
    var state = State()
    state.json.lineEnd = lineEnd
    self.state = Guarded(state)
  }

  /// Passes the bytes of the value of one instant to `body`.
  ///
  /// - Parameter encode: writes the value; not called if the value of this instant is already written
  func withBytes(
    at instant: MonotonicInstant, encode: (inout JSONWriter) -> Void, _ body: (UnsafeBufferPointer<UInt8>) -> Void
  ) {
    state.withLock { state in
      if state.at != instant {
        state.json.removeAll()
        encode(&state.json)
        state.at = instant
      }
      body(state.json.bytes)
    }
  }
}
