import Fusion
import Guarding
import Outputs
import SystemPackage

/// Collects states as lines of JSON until they are written.
final class StateLines: Sendable {
  private let json = Guarded(JSONWriter(capacity: 1 << 17))

  func append(_ state: FusedState) {
    // After the last client has left, the state no longer describes the present.
    if state.mode == .asleep { return }
    json.withLock { StateReport.write(state, to: &$0) }
  }

  func flush(beyond byteCount: Int, to output: ExportOutput) throws(Errno) {
    try json.withLock { (json) throws(Errno) in
      guard json.bytes.count > byteCount else { return }
      try output.write(UnsafeRawBufferPointer(json.bytes))
      json.removeAll()
    }
  }
}
