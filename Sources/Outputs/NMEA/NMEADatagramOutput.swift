import Fusion
import Guarding
import Hub
import Publishing
import ServiceLifecycle

/// NMEA 0183 in datagrams, for programs that listen on UDP. Each target is a `Peer`.
public final class NMEADatagramOutput: Service {
  private let host: HubHost
  private let sink: JournalSink

  public init(host: HubHost, sink: JournalSink) {
    self.host = host
    self.sink = sink
  }

  public func run() async throws {
    await host.hub.servePeers(as: "datagrams") { board in
      board.nmea.filter { $0.target != nil }
    } connect: { [self] ports in
      ports.compactMap(connect)
    }
  }

  private func connect(_ port: Board.NMEAPort) -> Peer? {
    guard let target = port.target else { return nil }
    let datagrams = SentenceDatagrams(to: target, traffic: host.traffic.nmea, sink: sink)
    return Peer(values: subscribe(datagrams, to: target, port.feed), link: datagrams)
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
      return hub.sendStates(as: holder, keepsAwake: target.keepsAwake, rateHz: nil, parts: feed.parts) { state in
        // While the devices are asleep, the state's position is no longer the present one.
        if state.mode != .asleep { fused.withBytes(of: state) { bytes, _ in datagrams.send(bytes) } }
      }
    }
  }
}
