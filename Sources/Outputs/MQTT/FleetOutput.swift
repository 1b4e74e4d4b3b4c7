import Guarding
import Hub
import MonotonicTime
import Publishing
import ServiceLifecycle

/// The hub at the broker that its board file names. Whether that can be reached is nobody else's concern.
public final class FleetOutput: Service {
  /// What the broker has for the hub's leave.
  private static let farewell = Duration.milliseconds(500)

  private struct State {
    var session: FleetSession?
    var isOver = false
  }

  private let host: HubHost
  private let sink: JournalSink
  private let state = Guarded(State())

  public init(host: HubHost, sink: JournalSink) {
    self.host = host
    self.sink = sink
  }

  public func run() async throws {
    let hubs = host.hub.subscribe(as: "mqtt", receiveValue: { [self] in serve($0) })
    try? await gracefulShutdown()
    hubs.cancel()
    let session = state.withLock { state in
      state.isOver = true
      return state.session
    }
    guard let session else { return }
    let isJoined = session.isJoined
    session.end()
    // A thread that is looking for its broker ends with the process.
    guard isJoined else { return }
    let (end, signal) = AsyncStream.makeStream(of: Void.self)
    let clock = MonotonicClock()
    let timer = clock.schedule(at: clock.now + FleetOutput.farewell) { signal.finish() }
    session.whenOver { signal.finish() }
    for await _ in end {}
    timer.cancel()
  }

  private func serve(_ hub: Hub) {
    let old = state.withLock { $0.session }
    if let old, old.settings == hub.board.fleet { return old.follow(hub) }
    let new = makeSession(hub)
    let isOver = state.withLock { state in
      if !state.isOver { state.session = new }
      return state.isOver
    }
    guard !isOver else { return }
    old?.end()
    guard let new else { return }
    // At one broker they are one hub: the one is gone before the other comes.
    guard let old, old.settings.broker == new.settings.broker else { return begin(new) }
    old.whenOver { [self] in begin(new) }
  }

  /// Unless another has come in its place meanwhile.
  private func begin(_ session: FleetSession) {
    guard state.withLock({ $0.session === session && !$0.isOver }) else { return }
    session.begin(host.hub.value)
  }

  private func makeSession(_ hub: Hub) -> FleetSession? {
    guard let settings = hub.board.fleet else { return nil }
    do throws(FleetObstacle) {
      return try FleetSession(settings, host: host, sink: sink)
    } catch {
      sink.write(.warning, "the broker \(settings.broker) is not joined: \(error)")
      return nil
    }
  }
}
