import Fusion
import Guarding
import Hub
import MonotonicTime
import Publishing
import ServiceLifecycle

/// GDL 90 in datagrams, for tablets in cockpits.
///
/// Whether a tablet listens is unknown, so that the datagrams are no reason to power a device: they are sent while the devices
/// are awake for others, unless the board file says `keepsAwake`.
public final class GDL90Output: Service {
  private struct Pace {
    var nextPosition: MonotonicInstant?
    var nextAttitude: MonotonicInstant?
  }

  /// States a second; tablets draw the horizon with each.
  private static let rateHz = 5.0

  private let host: HubHost
  private let sink: JournalSink
  private let present = Guarded<Lifetime?>(nil)

  public init(host: HubHost, sink: JournalSink) {
    self.host = host
    self.sink = sink
  }

  public func run() async throws {
    let hubs = host.hub.subscribe(as: "gdl90", receiveValue: { [self] in serve($0) })
    try? await gracefulShutdown()
    hubs.cancel()
    replace(with: nil)
  }

  private func replace(with new: Lifetime?) {
    present.withLock { present in
      defer { present = new }
      return present
    }?.end()
  }

  private func serve(_ hub: Hub) {
    replace(with: nil)
    guard let target = hub.board.gdl90 else { return }
    let lifetime = Lifetime()
    let datagrams = SentenceDatagrams(
      to: target, traffic: host.traffic.nmea, sink: sink, title: "GDL 90", things: "messages")
    let pace = Guarded(Pace())
    let send = { @Sendable (state: FusedState) in
      // What is left once the devices sleep is no position of now.
      guard state.mode != .asleep else { return }
      let bytes = pace.withLock { GDL90Output.due(state, &$0) }.flatMap(\.frame)
      if !bytes.isEmpty { bytes.withUnsafeBufferPointer(datagrams.sendTogether) }
    }
    let holder = Holder("gdl90 udp \(target)")
    let states =
      target.keepsAwake
      ? hub.state(rateHz: GDL90Output.rateHz, parts: .all).subscribe(as: holder, receiveValue: send)
      : hub.lastState.subscribe(as: holder, receiveValue: { if let state = $0 { send(state) } })
    states.store(in: lifetime)
    Subscription { datagrams.end() }.store(in: lifetime)
    replace(with: lifetime)
  }

  private static func due(_ state: FusedState, _ pace: inout Pace) -> [GDL90Message] {
    var messages: [GDL90Message] = []
    if pace.nextPosition.map({ state.at >= $0 }) ?? true {
      // A state that comes a little early is not left for the next one.
      pace.nextPosition = state.at + .milliseconds(950)
      messages += GDL90Report.position(of: state)
    }
    if pace.nextAttitude.map({ state.at >= $0 }) ?? true {
      pace.nextAttitude = state.at + .milliseconds(190)
      if let attitude = GDL90Report.attitude(of: state) { messages.append(attitude) }
    }
    return messages
  }
}
