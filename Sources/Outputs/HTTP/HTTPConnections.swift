import CLinux
import Guarding
import NIOCore

/// The connections of one server.
final class HTTPConnections: Sendable {
  /// How many make a crowd.
  private static let crowd = 64

  private struct State {
    var open: [ObjectIdentifier: any Channel] = [:]
    /// How many have gone since memory was last given back.
    var gone = 0
  }

  private let state = Guarded(State())

  func opened(_ channel: any Channel) { state.withLock { $0.open[ObjectIdentifier(channel)] = channel } }

  func closed(_ channel: any Channel) {
    let isCrowd = state.withLock { state in
      guard state.open.removeValue(forKey: ObjectIdentifier(channel)) != nil else { return false }
      state.gone += 1
      return state.gone == HTTPConnections.crowd
    }
    if isCrowd { returnMemory(by: channel.eventLoop) }
  }

  /// Ends what is still open, whatever waits to be sent.
  func closeAll() {
    for channel in state.withLock({ Array($0.open.values) }) { channel.close(promise: nil) }
  }

  /// Gives memory back to the system once a crowd has left: the allocator would keep it for the next one, and a small board
  /// has others who need it.
  private func returnMemory(by loop: any EventLoop) {
    // A second later what belonged to them has been freed; that it wakes an idle process once more is worth it.
    loop.scheduleTask(in: .seconds(1)) { [self] in
      state.withLock { $0.gone = 0 }
      clinux_return_memory()
    }
  }
}
