import Fusion
import Guarding
import Hub
import MonotonicTime
import Publishing
import ServiceLifecycle

/// GDL 90 in datagrams, for tablets in cockpits.
///
/// The hub cannot know whether a tablet listens, so by default this output powers no device: it sends datagrams while
/// other clients keep the devices awake. With `keepsAwake` in the board file, it keeps the devices awake itself.
public final class GDL90Output: Service {
  private struct SendTimes {
    var nextPosition: MonotonicInstant?
    var nextAttitude: MonotonicInstant?
  }

  /// The rate of states. Tablets redraw the horizon for each state.
  private static let rateHz = 5.0

  private let host: HubHost
  private let sink: JournalSink
  /// The target of the datagrams, and their subscription and socket.
  private struct Present {
    let target: UDPTarget
    let lifetime: Lifetime
  }

  private let present = Guarded<Present?>(nil)

  public init(host: HubHost, sink: JournalSink) {
    self.host = host
    self.sink = sink
  }

  public func run() async throws {
    let boards = host.hub.registry.subscribe(as: "gdl90", receiveValue: { [self] in serve($0.board) })
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
    guard let target = board.gdl90 else { return replace(with: nil) }
    if present.withLock({ $0?.target == target }) { return }
    let hub = host.hub
    let lifetime = Lifetime()
    let datagrams = SentenceDatagrams(
      to: target, traffic: host.traffic.nmea, sink: sink, title: "GDL 90", things: "messages")
    let times = Guarded(SendTimes())
    let send = { @Sendable (state: FusedState) in
      // The devices have gone to sleep, so the last position is no longer the present one.
      guard state.mode != .asleep else { return }
      let bytes = times.withLock { GDL90Output.due(state, &$0) }.flatMap(\.frame)
      if !bytes.isEmpty { bytes.withUnsafeBufferPointer(datagrams.sendTogether) }
    }
    let holder = Holder("gdl90 udp \(target)")
    let states =
      target.keepsAwake
      ? hub.state(rateHz: GDL90Output.rateHz, parts: .all).subscribe(as: holder, receiveValue: send)
      : hub.lastState.subscribe(as: holder, receiveValue: { if let state = $0 { send(state) } })
    states.store(in: lifetime)
    Subscription { datagrams.end() }.store(in: lifetime)
    replace(with: Present(target: target, lifetime: lifetime))
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
