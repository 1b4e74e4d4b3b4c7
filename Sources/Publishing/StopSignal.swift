import CLinux
import Synchronization

/// Tells a source to stop, in a form that `poll` understands.
public final class StopSignal: Sendable {
  /// Becomes readable, and stays so, when the source is to stop. -1 where the process has no descriptor left.
  public let fileDescriptor: Int32
  private let isRaised = Atomic(false)

  public init() { fileDescriptor = clinux_eventfd() }

  deinit { if fileDescriptor >= 0 { close(fileDescriptor) } }

  public var isSet: Bool { isRaised.load(ordering: .acquiring) }

  public func set() {
    guard !isRaised.exchange(true, ordering: .acquiringAndReleasing) else { return }
    var one: UInt64 = 1
    // Eight bytes into an empty counter: this can neither block nor fail.
    _ = write(fileDescriptor, &one, 8)
  }
}
