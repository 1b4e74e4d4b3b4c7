import CLinux
import Synchronization

/// Wakes a waiting thread from any other thread. If the signal is raised twice before the thread waits, the thread
/// wakes once.
public final class WakeSignal: Sendable {
  /// The file descriptor to `poll`: readable while the signal is raised. -1 if the process had no descriptor left.
  public let fileDescriptor: Int32

  public init() { fileDescriptor = clinux_eventfd() }

  deinit { if fileDescriptor >= 0 { close(fileDescriptor) } }

  // `raise` and `clear` neither block nor fail, because the eventfd is non-blocking and far from overflow.

  public func raise() { clinux_eventfd_raise(fileDescriptor) }

  /// Lowers the signal.
  public func clear() { clinux_eventfd_clear(fileDescriptor) }

  /// Blocks until the signal is raised, and lowers it.
  public func wait() {
    clinux_wait_readable(fileDescriptor)
    clear()
  }
}

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
