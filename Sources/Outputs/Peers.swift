import Fusion
import Guarding
import Hub
import Publishing

/// A connection to a machine or bus that takes values and does not ask for them.
protocol PeerLink: Sendable {
  /// Begins to send, if `init` has not done so. A link that has already ended does not begin.
  func start()
  /// Ends the connection. Values that come later are dropped.
  func end()
}

extension PeerLink {
  func start() {}
}

/// A machine or bus that a section of the board file names, with the values that the hub sends to it.
///
/// The hub cannot know whether a peer uses its values, so by default it powers no device for a peer: it sends while
/// other clients keep the devices awake. With `keepsAwake` in the board file, it keeps the devices awake itself.
struct Peer: Sendable {
  let values: Subscription
  let link: any PeerLink

  func end() {
    values.cancel()
    link.end()
  }
}

/// The peers of the board in service.
private struct PresentPeers<Settings: Sendable>: Sendable {
  var settings: Settings?
  var peers: [Peer] = []
  /// Whether the output has ended. A reload may still be under way then, and no peer may begin after that, because
  /// nothing would end it.
  var isOver = false
}

extension Hub {
  /// Serves the peers in the board file until the program must end. A reload that does not change their settings keeps
  /// their connections.
  ///
  /// - Parameters:
  ///   - name: the name of the output
  ///   - settings: everything that requires new connections if it changes; `nil` without peers
  ///   - connect: makes the peers. Their links are started after the old ones have ended.
  func servePeers<Settings: Equatable & Sendable>(
    as name: String, _ settings: @escaping @Sendable (Board) -> Settings?,
    connect: @escaping @Sendable (Settings) -> [Peer]
  ) async {
    let present = Guarded(PresentPeers<Settings>())
    let boards = registry.subscribe(
      as: Holder(name),
      receiveValue: { [self] registry in
        // A reload at the moment of the hub's end must not open connections for an instant.
        if isEnding { return }
        let new = settings(registry.board)
        if present.withLock({ $0.isOver || $0.settings == new }) { return }
        // The new subscriptions come before the end of the old ones, so that no device is switched off in between.
        let peers = new.map(connect) ?? []
        let old = present.withLock { present -> [Peer]? in
          if present.isOver { return nil }
          defer { (present.settings, present.peers) = (new, peers) }
          return present.peers
        }
        guard let old else {
          for peer in peers { peer.end() }
          return
        }
        for peer in old { peer.end() }
        for peer in peers { peer.link.start() }
      })
    await untilShutdown()
    boards.cancel()
    let last = present.withLock { present in
      present.isOver = true
      return present.peers
    }
    for peer in last { peer.end() }
  }

  /// Passes the fused state on to a peer.
  ///
  /// - Parameters:
  ///   - keepsAwake: whether to keep the devices awake, or only to observe them
  ///   - rateHz: the highest rate if it keeps them awake; `nil` for each change
  func sendStates(
    as holder: Holder, keepsAwake: Bool, rateHz: Double?, parts: Set<StatePart>,
    _ send: @escaping @Sendable (FusedState) -> Void
  ) -> Subscription {
    guard keepsAwake else {
      return lastState.subscribe(as: holder, receiveValue: { if let state = $0 { send(state) } })
    }
    let states = rateHz.map { state(rateHz: $0, parts: parts) } ?? state(parts: parts)
    return states.subscribe(as: holder, receiveValue: send)
  }
}
