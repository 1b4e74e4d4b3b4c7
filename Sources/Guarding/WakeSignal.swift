import CLinux

/// Wakes a thread that waits for it, from any other; raised twice before the thread looks, it wakes once.
public final class WakeSignal: Sendable {
  /// For `poll`: readable while raised. -1 where the process had no descriptor left.
  public let fileDescriptor: Int32

  public init() { fileDescriptor = clinux_eventfd() }

  deinit { if fileDescriptor >= 0 { close(fileDescriptor) } }

  // Raising a counter that nobody fills, and emptying it, can neither block nor fail.

  public func raise() { clinux_eventfd_raise(fileDescriptor) }

  /// Takes it back.
  public func clear() { clinux_eventfd_clear(fileDescriptor) }

  /// Sleeps until it is raised, and takes it back.
  public func wait() {
    clinux_wait_readable(fileDescriptor)
    clear()
  }
}
