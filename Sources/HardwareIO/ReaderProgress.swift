import Synchronization

/// How far a reader's thread has got, for a supervisor on another thread to look at.
///
/// A thread that waits in its poller ends when it is told to, however long it waits. One that is somewhere else for long hangs, as in
/// the kernel. Both stamps take an atomic addition and nothing else, as they are made for each sample.
public final class ReaderProgress: Sendable {
  private let steps = Atomic<UInt64>(0)

  public init() {}

  /// Counts the steps: odd while the thread waits in its poller.
  public var stepCount: UInt64 { steps.load(ordering: .relaxed) }

  func beginsToWait() { steps.wrappingAdd(1, ordering: .relaxed) }

  func goesOn() { steps.wrappingAdd(1, ordering: .relaxed) }
}
