import Guarding
import MonotonicTime

/// What others know of a receiver and it does not say itself: that it repeats one position while the inertial sensors move.
public final class ReceiverDoubt: Sendable {
  /// Who has said so has others to do, and may not come back to take it back.
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

  /// It begins anew.
  func forget() { contradictedAt.withLock { $0 = nil } }
}
