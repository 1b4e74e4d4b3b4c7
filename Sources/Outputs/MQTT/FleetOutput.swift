import Guarding
import Hub
import MonotonicTime
import Publishing
import ServiceLifecycle

/// Connects the hub to the broker that its board file names. An unreachable broker affects nothing else.
public final class FleetOutput: Service {
  /// How long disconnecting from the broker may take.
  private static let farewell = Duration.milliseconds(500)

  private struct State {
    /// The session of the board file in service.
    var session: FleetSession?
    /// Whether the session has begun. If not, it waits until earlier sessions at its broker have ended.
    var hasBegun = false
    /// Sessions that are ending. Their end may take minutes if a name server or the network does not answer.
    var leaving: [FleetSession] = []
    var isOver = false
  }

  private let host: HubHost
  private let sink: JournalSink
  private let memory: FleetMemory?
  private let state = Guarded(State())

  /// - Parameter memory: the hub's addresses in earlier runs
  public init(host: HubHost, sink: JournalSink, memory: FleetMemory? = nil) {
    self.host = host
    self.memory = memory
    self.sink = sink
  }

  public func run() async throws {
    let boards = host.hub.registry.subscribe(as: "mqtt", receiveValue: { [self] _ in serve(host.hub) })
    await untilShutdown()
    boards.cancel()
    let session = state.withLock { state in
      state.isOver = true
      return state.session
    }
    guard let session else { return }
    let isJoined = session.isJoined
    session.end()
    // If a thread is still connecting, it ends with the process.
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
    let (isOver, hasLeft) = state.withLock { state in
      guard !state.isOver else { return (true, false) }
      let hasLeft = old != nil && state.hasBegun
      if let old, hasLeft { state.leaving.append(old) }
      state.session = new
      state.hasBegun = false
      return (false, hasLeft)
    }
    guard !isOver else { return }
    old?.end()
    // A session whose connection has never started does not report its end.
    if let old, hasLeft {
      old.whenOver { [self] in
        state.withLock { state in state.leaving.removeAll { $0 === old } }
        beginIfAlone()
      }
    }
    beginIfAlone()
  }

  /// Begins the session once no other session is left at its broker, because both would use the same identity.
  private func beginIfAlone() {
    let next = state.withLock { state -> FleetSession? in
      guard let session = state.session, !state.hasBegun, !state.isOver,
        !state.leaving.contains(where: { $0.settings.broker == session.settings.broker })
      else { return nil }
      state.hasBegun = true
      return session
    }
    next?.begin(host.hub)
  }

  private func makeSession(_ hub: Hub) -> FleetSession? {
    guard let settings = hub.board.fleet else { return nil }
    do throws(FleetError) {
      return try FleetSession(settings, host: host, sink: sink, memory: memory)
    } catch {
      sink.write(.warning, "cannot connect to the broker \(settings.broker): \(error)")
      return nil
    }
  }
}
