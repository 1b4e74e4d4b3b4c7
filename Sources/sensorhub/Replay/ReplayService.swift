import Glibc
import Guarding
import Hub
import Logging
import MonotonicTime
import Outputs
import Publishing
import Recording
import ServiceLifecycle

/// The hub that plays a recording, as a long-running process. Its clients receive the recorded data as if it were
/// measured now.
struct ReplayService: Sendable {
  private let sink = JournalSink()
  private let host: HubHost
  private let session: ReplaySession
  /// The subscription that changes the hub's board when the recorded board changes.
  private let boards: Subscription
  private let path: SocketPath
  private let budget = DescriptorBudget.raised()
  private let server: StreamServer
  private let group: ReplayedGroup

  /// Opens the sockets, so that errors appear before anything is played.
  ///
  /// - Parameters:
  ///   - stage: the hub's machine and clocks
  ///   - open: see `ReplaySession`
  init(
    _ board: Board, on stage: ReplayStage, times: ClosedRange<Int64>, rate: Double, staysAtEnd: Bool, socket: String?,
    open: @escaping @Sendable (_ from: Int64?) throws -> any ReplaySource
  ) throws {
    let group = ReplayedGroup()
    self.group = group
    session = ReplaySession(
      on: stage, times: times, rate: rate, staysAtEnd: staysAtEnd, open: open,
      report: { [sink] event in
        switch event {
        case .skipped(let duration):
          sink.write(.notice, "skipped \(Text.duration(seconds: duration.inSeconds)) without recorded data")
        case .over:
          sink.write(.notice, "end of the recording\(staysAtEnd ? "; seek, or end with Ctrl-C" : "")")
          if !staysAtEnd { group.end() }
        case .failed(let error):
          group.fail("the rest of the recording cannot be read: \(error)")
        }
      })
    host = HubHost(Hub(board: board, on: stage.machine), version: SensorHub.version, replay: session)
    boards = stage.boards.subscribe(as: "replay", receiveValue: { [host] in host.serveReplay(on: $0) })
    path = socket.map(SocketPath.init) ?? .standard
    do throws(SocketError) {
      server = try StreamServer(host: host, path: path, sink: sink, budget: budget)
    } catch {
      throw CommandError(error)
    }
  }

  func run() async throws {
    let signals = try SignalListener(onTerminate: { [group] in group.end() }, onReload: {})
    let board = host.hub.board
    sink.write(.warning, "REPLAY: clients get recorded values, not live measurements")
    sink.write(.notice, "sensorhub \(SensorHub.version): replaying board '\(board.name)', state on \(path.state)")
    let services = ServiceGroup(
      services: [signals, server, HTTPOutput(host: host, sink: sink, budget: budget)],
      logger: Logger(label: "sensorhub") { _ in SwiftLogNoOpLogHandler() })
    group.begin(services)
    let error = session.start()
    guard error == 0 else {
      throw CommandError(.inputOutput, "cannot start a thread for the replay: \(String(cString: strerror(error)))")
    }
    try await services.run()
    session.end()
    sink.flush(within: .seconds(1))
    if let failure = group.failure { throw CommandError(.inputOutput, failure) }
  }
}

/// Ends the group of services. The end may be requested before the group exists.
private final class ReplayedGroup: Sendable {
  private struct State {
    var group: ServiceGroup?
    var isEnding = false
    var failure: String?
  }

  private let state = Guarded(State())

  func begin(_ group: ServiceGroup) {
    let isTooLate = state.withLock { state in
      state.group = group
      return state.isEnding
    }
    if isTooLate { end() }
  }

  /// Why the group ended early; `nil` without a failure.
  var failure: String? { state.withLock { $0.failure } }

  func fail(_ failure: String) {
    state.withLock { $0.failure = failure }
    end()
  }

  func end() {
    let group = state.withLock { state in
      state.isEnding = true
      return state.group
    }
    if let group { group.triggersShutdown() }
  }
}
