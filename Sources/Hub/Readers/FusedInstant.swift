import Guarding
import MonotonicTime

/// As of when a device's last sample was fused.
///
/// Several devices are read at the same time, and what was read first is not always fused first. Who records a sample records it as
/// of this instant: what is replayed in the order of these gives the same states again. What was read during a run and came too
/// late for it comes after its end there, too.
final class FusedInstant: Sendable {
  private struct Last {
    var readAt: MonotonicInstant
    var instant: MonotonicInstant
  }

  private struct State {
    var last: Last?
    /// The last run in which this device's samples were fused.
    var runEndedAt: MonotonicInstant?
  }

  private let state = Guarded(State())

  /// Of two epochs that one read ended the first counts: it is to have been read by then.
  func set(_ instant: MonotonicInstant, ofSampleReadAt readAt: MonotonicInstant) {
    state.withLock { state in
      if state.last?.readAt != readAt { state.last = Last(readAt: readAt, instant: instant) }
    }
  }

  /// What has not been fused by now is not fused in this run.
  func runEnded(at instant: MonotonicInstant) { state.withLock { $0.runEndedAt = instant } }

  /// That of a sample; when it was read where nobody has it fused.
  func of(sampleReadAt readAt: MonotonicInstant) -> MonotonicInstant {
    state.withLock { state in
      if let last = state.last, last.readAt == readAt { return last.instant }
      return state.runEndedAt.map { max(readAt, $0 + .nanoseconds(1)) } ?? readAt
    }
  }
}
