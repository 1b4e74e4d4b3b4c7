import Synchronization

/// Which thread delivers for a broadcast: whoever raised the count of its deliveries from zero, or was handed the role.
final class DeliveringRole: Sendable {
  /// Deliveries under way or waiting. Above zero somebody has the role. Raised only under the broadcast's lock, together
  /// with the queue and the holder.
  let deliveries = Atomic(0)
  /// The `pthread_t` of whoever has the role, or had it last.
  let holder = Atomic<UInt>(0)
}
