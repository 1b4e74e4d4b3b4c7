import Guarding
import Synchronization

/// Records which thread of the process waits for which delivering role, so that threads never wait for each other in a
/// circle.
///
/// A handler may send to another broadcast, whose handlers may send to the first. A thread that is about to wait first
/// checks whether the thread that holds the awaited role is itself waiting, directly or indirectly, for a role that
/// this thread holds. If so, it does not wait.
///
/// One thread of a circle always detects it. Threads enter here one after the other, each after it has taken its roles,
/// and remain until after they have been woken. So the last one to enter finds the entries of all the others and, for
/// each awaited role, its holder. A holder that changes in the meantime belongs to a thread that is not waiting.
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
