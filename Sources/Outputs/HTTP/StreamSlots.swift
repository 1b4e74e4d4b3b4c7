import Guarding
import Hub

/// The slots of event streams, and the machines that use them. Streams may not take all connections, because a
/// request for the hub's health must always be possible.
final class StreamSlots: Sendable {
  /// The maximum number of event streams if the process may open enough files.
  static let most = 1024
  /// The limit for one other machine; a browser opens at most six streams. Clients on this machine may have all slots,
  /// because a proxy here serves many clients.
  static let peerLimit = 64

  enum Refusal: Error, Equatable, CustomStringConvertible {
    case all(limit: Int)
    case peer(IPAddress)

    var description: String {
      switch self {
      case .all(let limit): "there are \(limit) event streams, the maximum"
      case .peer(let address): "\(address) has \(StreamSlots.peerLimit) event streams, the maximum for one machine"
      }
    }
  }

  private struct State {
    var count = 0
    /// The streams of each other machine: `IPAddress.machine`.
    var perPeer: [[UInt8]: Int] = [:]
    /// The refusals that were logged. One is removed when about half of its limit is free again.
    var reported: Set<[UInt8]> = []
  }

  private let state = Guarded(State())
  private let limit: Int
  private let report: @Sendable (Refusal) -> Void

  /// - Parameters:
  ///   - limit: the maximum number of streams, less than the port's limit of connections
  ///   - report: called with the first of several similar refusals
  init(limit: Int, report: @escaping @Sendable (Refusal) -> Void) {
    self.limit = limit
    self.report = report
  }

  /// Takes a slot. It is free again when the returned value is released.
  func take(for address: IPAddress?) throws(Refusal) -> StreamSlot {
    let peer = address.flatMap { $0.isLoopback ? nil : $0 }
    let (refusal, isFirst) = state.withLock { state -> (Refusal?, Bool) in
      if state.count >= limit { return (.all(limit: limit), state.reported.insert([]).inserted) }
      if let peer {
        if state.perPeer[peer.machine, default: 0] >= StreamSlots.peerLimit {
          return (.peer(peer), state.reported.insert(peer.machine).inserted)
        }
        state.perPeer[peer.machine, default: 0] += 1
      }
      state.count += 1
      return (nil, false)
    }
    if let refusal {
      if isFirst { report(refusal) }
      throw refusal
    }
    return StreamSlot(places: self, peer: peer?.machine)
  }

  fileprivate func giveBack(_ peer: [UInt8]?) {
    state.withLock { state in
      state.count -= 1
      // While the number stays near the limit, further refusals are not news.
      if state.count < limit / 2 { state.reported.remove([]) }
      guard let peer, let count = state.perPeer[peer] else { return }
      state.perPeer[peer] = count > 1 ? count - 1 : nil
      if count <= StreamSlots.peerLimit / 2 { state.reported.remove(peer) }
    }
  }
}

final class StreamSlot: Sendable {
  private let places: StreamSlots
  private let peer: [UInt8]?

  fileprivate init(places: StreamSlots, peer: [UInt8]?) {
    self.places = places
    self.peer = peer
  }

  // The response releases the slot when the request ends, even before its first byte.
  deinit { places.giveBack(peer) }
}
