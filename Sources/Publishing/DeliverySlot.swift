import Glibc
import Synchronization

/// A sender's place in the line of a broadcast. The wait ends when the sender receives the delivering role, or when
/// another thread has taken its delivery out of the queue.
final class DeliverySlot: @unchecked Sendable {
  // Unchecked, and safe: a semaphore may be posted and waited for by different threads, and each of them retains this
  // object, which destroys the semaphore when it is deinitialized.
  private let semaphore: UnsafeMutablePointer<sem_t>
  private let hasRole = Atomic(false)
  /// The `pthread_t` of the waiting thread.
  let thread: UInt
  /// The number of deliveries queued since the start when the wait began. The sender's own delivery is the last of
  /// them.
  let number: Int

  init(thread: UInt, number: Int) {
    self.thread = thread
    self.number = number
    semaphore = .allocate(capacity: 1)
    let result = sem_init(semaphore, 0, 0)
    precondition(result == 0, "sem_init: \(errno)")
  }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  /// Ends the wait. Call it once.
  func end(withRole: Bool) {
    hasRole.store(withRole, ordering: .releasing)
    sem_post(semaphore)
  }

  /// Waits. Returns whether the wait ended because this thread received the role.
  func wait() -> Bool {
    // A signal may interrupt `sem_wait`, so it is called again.
    while sem_wait(semaphore) != 0 {}
    return hasRole.load(ordering: .acquiring)
  }
}
