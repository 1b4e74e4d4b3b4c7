import MonotonicTime
import Synchronization

/// How far a reader's thread has got, for a supervisor on another thread to look at.
///
/// A thread that is outside its poller for long hangs, as in the kernel. One that waits in its poller longer than it meant to
/// hangs too. Each stamp takes an atomic addition, and at most one store, as they are made for each sample.
public final class ReaderProgress: Sendable {
  private let steps = Atomic<UInt64>(0)
  /// In nanoseconds.
  private let longestWait = Atomic<Int64>(.max)

  public init() {}

  /// Counts the steps: odd while the thread waits in its poller.
  public var stepCount: UInt64 { steps.load(ordering: .acquiring) }

  /// How long the thread waits in its poller at most; `nil` for as long as it takes. It says nothing of a thread that is not there.
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
