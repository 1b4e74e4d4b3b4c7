import Fusion
import Guarding
import Hub
import MonotonicTime
import Publishing
import ServiceLifecycle

/// GDL 90 in datagrams, for tablets in cockpits. The target of the datagrams is a `Peer`.
public final class GDL90Output: Service {
  private struct SendTimes {
    var nextPosition: MonotonicInstant?
    var nextAttitude: MonotonicInstant?
  }

  /// The rate of states. Tablets redraw the horizon for each state.
  private static let rateHz = 5.0

  private let host: HubHost
  private let sink: JournalSink

  public init(host: HubHost, sink: JournalSink) {
    self.host = host
    self.sink = sink
  }

  public func run() async throws {
    await host.hub.servePeers(as: "gdl90", \.gdl90) { [self] in [connect($0)] }
  }

  private func connect(_ target: UDPTarget) -> Peer {
    let datagrams = SentenceDatagrams(
      to: target, traffic: host.traffic.nmea, sink: sink, title: "GDL 90", things: "messages")
    let times = Guarded(SendTimes())
    let states = host.hub.sendStates(
      as: Holder("gdl90 udp \(target)"), keepsAwake: target.keepsAwake, rateHz: GDL90Output.rateHz, parts: .all
    ) { state in
      // The devices have gone to sleep, so the last position is no longer the present one.
      guard state.mode != .asleep else { return }
      let bytes = times.withLock { GDL90Output.due(state, &$0) }.flatMap(\.frame)
      if !bytes.isEmpty { bytes.withUnsafeBufferPointer(datagrams.sendTogether) }
    }
    return Peer(values: states, link: datagrams)
  }

  private static func due(_ state: FusedState, _ times: inout SendTimes) -> [GDL90Message] {
    var messages: [GDL90Message] = []
    if times.nextPosition.map({ state.at >= $0 }) ?? true {
      // The interval is slightly shorter than a second, so that a state that comes slightly early is sent too.
      times.nextPosition = state.at + .milliseconds(950)
      messages += GDL90Report.position(of: state)
    }
    if times.nextAttitude.map({ state.at >= $0 }) ?? true {
      times.nextAttitude = state.at + .milliseconds(190)
      if let attitude = GDL90Report.attitude(of: state) { messages.append(attitude) }
    }
    return messages
  }
}
