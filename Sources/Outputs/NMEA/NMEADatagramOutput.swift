import Fusion
import Guarding
import Hub
import Publishing
import ServiceLifecycle

/// NMEA 0183 in datagrams, for programs that listen on UDP.
///
/// The hub cannot know whether any program listens, so by default this output powers no device: it sends datagrams
/// while other clients keep the devices awake. With `keepsAwake` in the board file, it keeps the devices awake
/// itself.
public final class NMEADatagramOutput: Service {
  private let host: HubHost
  private let sink: JournalSink
  /// The settings of the datagrams, and their subscriptions and sockets.
  private struct Present {
    let ports: [Board.NMEAPort]
    let lifetime: Lifetime
  }

  private let present = Guarded<Present?>(nil)

  public init(host: HubHost, sink: JournalSink) {
    self.host = host
    self.sink = sink
  }

  public func run() async throws {
    let boards = host.hub.registry.subscribe(as: "datagrams", receiveValue: { [self] in serve($0.board) })
    await untilShutdown()
    boards.cancel()
    replace(with: nil)
  }

  private func replace(with new: Present?) {
    present.withLock { present in
      defer { present = new }
      return present
    }?.lifetime.end()
  }

  private func serve(_ board: Board) {
    let ports = board.nmea.filter { $0.target != nil }
    if present.withLock({ $0?.ports == ports }) { return }
    let lifetime = Lifetime()
    for port in ports {
      guard let target = port.target else { continue }
      let datagrams = SentenceDatagrams(to: target, traffic: host.traffic.nmea, sink: sink)
      subscribe(datagrams, to: target, port.feed).store(in: lifetime)
      Subscription { datagrams.end() }.store(in: lifetime)
    }
    replace(with: Present(ports: ports, lifetime: lifetime))
  }

  private func subscribe(
    _ datagrams: SentenceDatagrams, to target: UDPTarget, _ feed: Board.NMEAFeed
  ) -> Subscription {
    let hub = host.hub
    let machine = TCPAddress(address: target.address, port: target.port).host
    let holder = Holder(
      "nmea udp \(target)", payer: target.interface == nil ? "nmea udp \(machine)" : "nmea udp \(target)")
    switch feed.source {
    case .receiver:
      let receiver = Guarded(ReceiverFeed())
      let send = { @Sendable (output: ReceiverOutput) in
        let sentences = receiver.withLock { $0.bytes(of: output) }
        if !sentences.isEmpty { feed.sentences.filter(sentences).withUnsafeBufferPointer(datagrams.send) }
      }
      return target.keepsAwake ? hub.sentences.subscribe(as: holder, receiveValue: send) : hub.observeSentences(send)
    case .fused:
      let fused = FusedFeed(host: host, feed: feed)
      let send = { @Sendable (state: FusedState) in
        // While the devices are asleep, the state's position is no longer the present one.
        if state.mode != .asleep { fused.withBytes(of: state) { bytes, _ in datagrams.send(bytes) } }
      }
      return target.keepsAwake
        ? hub.state(parts: feed.parts).subscribe(as: holder, receiveValue: send)
        : hub.lastState.subscribe(as: holder, receiveValue: { if let state = $0 { send(state) } })
    }
  }
}
