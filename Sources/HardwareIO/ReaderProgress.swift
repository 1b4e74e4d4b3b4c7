import MonotonicTime
import Synchronization

/// The progress of a reader's thread, which a supervisor on another thread observes.
///
/// A reader waits only in its poller. A thread that stays outside its poller too long hangs, for example in a call to
/// the kernel. A thread that stays in its poller longer than intended hangs too. Each wait causes a notification when
/// it begins and one when it ends. A notification costs only one atomic addition and at most one store.
public final class ReaderProgress: Sendable {
  private let steps = Atomic<UInt64>(0)
  /// The longest intended wait in nanoseconds.
  private let longestWait = Atomic<Int64>(.max)

  public init() {}

  /// A count of notifications. It is odd while the thread waits in its poller.
  public var stepCount: UInt64 { steps.load(ordering: .acquiring) }

  /// The longest time that the thread intends to wait in its poller; `nil` if unlimited. The value has no meaning
  /// before the thread starts.
  public var waitLimit: Duration? {
    let limit = longestWait.load(ordering: .relaxed)
    return limit == .max ? nil : .nanoseconds(limit)
  }

  func beginsToWait(atMost limit: Duration?) {
    longestWait.store(limit?.inNanoseconds ?? .max, ordering: .relaxed)
    steps.wrappingAdd(1, ordering: .releasing)
  }

  func goesOn() { steps.wrappingAdd(1, ordering: .relaxed) }
}
