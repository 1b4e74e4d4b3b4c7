import Glibc
import Synchronization

/// A sender's place among those who wait: until the delivering role comes to it, or until what it queued has been taken
/// out of the queue by somebody else.
final class Turn: @unchecked Sendable {
  // Unchecked, and safe: a semaphore is made for being posted to and waited for by different threads, and whoever does
  // either holds this object, whose end is the semaphore's.
  private let semaphore: UnsafeMutablePointer<sem_t>
  private let hasRole = Atomic(false)
  /// The `pthread_t` of the thread that waits.
  let thread: UInt
  /// How many deliveries had been queued, ever, when it began to wait: its own is among them.
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

  /// Ends the wait. To be called once.
  func end(withRole: Bool) {
    hasRole.store(withRole, ordering: .releasing)
    sem_post(semaphore)
  }

  /// Returns whether the role came with the end of the wait.
  func wait() -> Bool {
    // A signal may wake the thread before its turn.
    while sem_wait(semaphore) != 0 {}
    return hasRole.load(ordering: .acquiring)
  }
}
