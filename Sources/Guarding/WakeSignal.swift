import CLinux

/// Wakes a thread that waits for it, from any other; raised twice before the thread looks, it wakes once.
public final class WakeSignal: Sendable {
  /// For `poll`: readable while raised.
  public let fileDescriptor: Int32

  public init() { fileDescriptor = clinux_eventfd() }

  deinit { close(fileDescriptor) }

  public func raise() { _ = clinux_eventfd_raise(fileDescriptor) }

  /// Takes it back.
  public func clear() { _ = clinux_eventfd_clear(fileDescriptor) }

  /// Sleeps until it is raised, and takes it back.
  public func wait() {
    clinux_wait_readable(fileDescriptor)
    clear()
  }
}
