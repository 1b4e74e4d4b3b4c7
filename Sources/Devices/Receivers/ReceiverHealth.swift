import Guarding
import MonotonicTime

/// A doubt about a receiver's position that comes from another source, for example from inertial sensors that measure
/// motion while the receiver repeats one position.
public final class ReceiverHealth: Sendable {
  /// The time after which a doubt ends by itself, because its source may never withdraw it.
  private static let lifetime = Duration.seconds(5)

  private let contradictedAt = Guarded<MonotonicInstant?>(nil)

  public init() {}

  /// Records whether another source contradicts the position at an instant.
  public func note(_ isContradicted: Bool, at instant: MonotonicInstant) {
    contradictedAt.withLock { $0 = isContradicted ? instant : nil }
  }

  func isContradicted(at now: MonotonicInstant) -> Bool {
    contradictedAt.withLock { $0.map { now - $0 < ReceiverHealth.lifetime } ?? false }
  }

  /// Forgets the doubt, because the receiver restarts.
  func forget() { contradictedAt.withLock { $0 = nil } }
}
