import Synchronization

/// Tells a thread to stop, through a file descriptor that `poll` can wait for. Once set, it stays set.
public final class StopSignal: Sendable {
  private let wake = WakeSignal()
  private let isRaised = Atomic(false)

  public init() {}

  /// Becomes and stays readable when the thread must stop. -1 if the process had no file descriptor left.
  public var fileDescriptor: Int32 { wake.fileDescriptor }

  public var isSet: Bool { isRaised.load(ordering: .acquiring) }

  public func set() {
    isRaised.store(true, ordering: .releasing)
    wake.raise()
  }
}
