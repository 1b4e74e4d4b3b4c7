import CLinux
import Guarding
import NIOCore

/// Gives memory back to the system once a crowd has left: the allocator would keep it for the next one, and a small board
/// has others who need it.
final class MemoryReturn: Sendable {
  /// How many make a crowd.
  private static let crowd = 64

  private let left = Guarded(0)

  func connectionClosed(on loop: any EventLoop) {
    let isCrowd = left.withLock { left in
      left += 1
      return left == MemoryReturn.crowd
    }
    guard isCrowd else { return }
    // A second later what belonged to them has been freed; that it wakes an idle process once more is worth it.
    loop.scheduleTask(in: .seconds(1)) { [self] in
      left.withLock { $0 = 0 }
      clinux_return_memory()
    }
  }
}
