import Guarding
import MonotonicTime

/// A doubt about a receiver that others have and it does not state itself: that it repeats one position while the
/// inertial sensors move.
public final class ReceiverDoubt: Sendable {
  /// A doubt expires, because its source may not come back to withdraw it.
  private static let lifetime = Duration.seconds(5)

  private let contradictedAt = Guarded<MonotonicInstant?>(nil)

  public init() {}

  /// Says whether a position of some instant is contradicted.
  public func note(_ isContradicted: Bool, at instant: MonotonicInstant) {
    contradictedAt.withLock { $0 = isContradicted ? instant : nil }
  }

  func isContradicted(at now: MonotonicInstant) -> Bool {
    contradictedAt.withLock { $0.map { now - $0 < ReceiverDoubt.lifetime } ?? false }
  }

  /// It starts again.
  func forget() { contradictedAt.withLock { $0 = nil } }
}
