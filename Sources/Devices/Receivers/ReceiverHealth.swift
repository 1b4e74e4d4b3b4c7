import Guarding
import MonotonicTime

/// A doubt about a receiver from other sources: it repeats one position while the inertial sensors move.
public final class ReceiverHealth: Sendable {
  /// The lifetime of a doubt, because its source may never withdraw it.
  private static let lifetime = Duration.seconds(5)

  private let contradictedAt = Guarded<MonotonicInstant?>(nil)

  public init() {}

  /// Records whether a position of some instant is contradicted.
  public func note(_ isContradicted: Bool, at instant: MonotonicInstant) {
    contradictedAt.withLock { $0 = isContradicted ? instant : nil }
  }

  func isContradicted(at now: MonotonicInstant) -> Bool {
    contradictedAt.withLock { $0.map { now - $0 < ReceiverHealth.lifetime } ?? false }
  }

  /// Forgets the doubt, because the receiver restarts.
  func forget() { contradictedAt.withLock { $0 = nil } }
}
