import Guarding
import Synchronization

/// Which thread waits for which delivering role, in the whole process: so that no circle of threads comes about in which
/// each waits for the next one.
///
/// A handler may send to another broadcast, whose handlers may send to the first. Whoever is about to wait looks first
/// whether what it waits for waits, over however many corners, for a role of its own; then it does not wait.
///
/// One of the threads in a circle always sees it: they enter here one after the other, each after it has taken the roles
/// that it holds, and stay until after they have been woken. The last one to enter finds the others' entries, and behind
/// each role the thread that holds it. Whatever else changes a holder meanwhile does so for a thread that is not waiting.
enum WaitGraph {
  // Process-wide, because circles are.
  private static let waits = Guarded<[UInt: DeliveringRole]>([:])

  /// Enters that a thread waits for a role, unless that would close a circle; returns whether it did.
  static func enter(_ thread: UInt, waitingFor role: DeliveringRole) -> Bool {
    waits.withLock { waits in
      var awaited = role
      for _ in 0...waits.count {
        let holder = awaited.holder.load(ordering: .acquiring)
        if holder == thread { return false }
        // Who is entered as waiting for a role that it holds has just been handed it, and is about to wake.
        guard let next = waits[holder], next !== awaited else { break }
        awaited = next
      }
      waits[thread] = role
      return true
    }
  }

  static func leave(_ thread: UInt) { waits.withLock { $0[thread] = nil } }
}
