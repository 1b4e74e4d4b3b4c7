import Synchronization

/// The right to deliver for one broadcast. A thread takes the role when it raises the number of deliveries from zero,
/// or receives it from the previous holder.
final class DeliveringRole: Sendable {
  /// The number of deliveries under way or queued. While it is above zero, a thread has the role. It is increased
  /// only under the broadcast's lock, together with the queue and `holder`.
  let deliveries = Atomic(0)
  /// The `pthread_t` of the thread that has the role, or had it last.
  let holder = Atomic<UInt>(0)
}
