import Guarding
import MonotonicTime

/// As of when a device's last sample was fused.
///
/// Several devices are read at the same time, and what was read first is not always fused first. Who records a sample records it as
/// of this instant: what is replayed in the order of these gives the same states again.
final class FusedInstant: Sendable {
  private struct Last {
    var readAt: MonotonicInstant
    var instant: MonotonicInstant
  }

  private let last = Guarded<Last?>(nil)

  func set(_ instant: MonotonicInstant, ofSampleReadAt readAt: MonotonicInstant) {
    last.withLock { $0 = Last(readAt: readAt, instant: instant) }
  }

  /// That of a sample; when it was read where nobody has it fused.
  func of(sampleReadAt readAt: MonotonicInstant) -> MonotonicInstant {
    last.withLock { $0.flatMap { $0.readAt == readAt ? $0.instant : nil } } ?? readAt
  }
}
