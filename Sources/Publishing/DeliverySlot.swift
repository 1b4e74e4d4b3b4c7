import Glibc
import Guarding
import Synchronization

/// A sender's place in the line of a broadcast. The wait ends when the sender receives the delivering role, or when
/// another thread has taken its delivery out of the queue.
final class DeliverySlot: @unchecked Sendable {
  // Unchecked, and safe: different threads may post a semaphore and wait for it. Each of them retains this object,
  // which destroys the semaphore when it is deinitialized.
  private let semaphore: UnsafeMutablePointer<sem_t>
  private let hasRole = Atomic(false)
  /// The `pthread_t` of the waiting thread.
  let thread: UInt
  /// The number of deliveries that had been queued in the broadcast, since it was made, when the wait began. The
  /// sender's own delivery is the last of them.
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

/// The right to deliver for one broadcast. A thread takes the role when it raises the number of deliveries from zero,
/// or receives it from the previous holder.
final class DeliveringRole: Sendable {
  /// The number of deliveries under way or queued. While it is above zero, a thread has the role. It is increased
  /// only under the broadcast's lock, together with the queue and `holder`.
  let deliveries = Atomic(0)
  /// The `pthread_t` of the thread that has the role, or had it last.
  let holder = Atomic<UInt>(0)
}

/// Records which thread of the process waits for which delivering role. With this record, threads never wait for each
/// other in a circle.
///
/// A handler may send to another broadcast, whose handlers may send to the first. Before a thread waits, it looks at
/// the thread that holds the awaited role. If that thread is itself waiting, directly or indirectly, for a role that
/// this thread holds, this thread does not wait.
///
/// One thread of a circle always detects it. Threads enter here one after the other, each after it has taken its roles,
/// and remain until after they have been woken. So the last one to enter finds the entries of all the others and, for
/// each awaited role, its holder. If a role changes its holder in the meantime, its previous holder was not waiting, so
/// no circle leads through this role.
enum WaitGraph {
  // Process-wide, because a circle may span any number of broadcasts.
  private static let waits = Guarded<[UInt: DeliveringRole]>([:], rank: .waitGraph)

  /// Records that a thread waits for a role, unless the wait would close a cycle. Returns whether it recorded the
  /// wait.
  static func enter(_ thread: UInt, waitingFor role: DeliveringRole) -> Bool {
    waits.withLock { waits in
      var awaited = role
      for _ in 0...waits.count {
        let holder = awaited.holder.load(ordering: .acquiring)
        if holder == thread { return false }
        // A thread recorded as waiting for a role that it already holds has just received the role and is about to
        // wake.
        guard let next = waits[holder], next !== awaited else { break }
        awaited = next
      }
      waits[thread] = role
      return true
    }
  }

  static func leave(_ thread: UInt) { waits.withLock { $0[thread] = nil } }
}
