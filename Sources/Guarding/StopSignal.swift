import Synchronization

/// Tells a thread to stop, in a form that `poll` understands: a wake signal that is never taken back.
public final class StopSignal: Sendable {
  private let wake = WakeSignal()
  private let isRaised = Atomic(false)

  public init() {}

  /// Becomes readable, and stays so, when the thread is to stop. -1 where the process had no descriptor left.
  public var fileDescriptor: Int32 { wake.fileDescriptor }

  public var isSet: Bool { isRaised.load(ordering: .acquiring) }

  public func set() {
    isRaised.store(true, ordering: .releasing)
    wake.raise()
  }
}
