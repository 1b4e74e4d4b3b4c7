import DequeModule
import Glibc
import Guarding
import Hub
import HummingbirdCore
import MonotonicTime
import NIOCore
import NIOPosix
import Publishing

/// A web port, open at all its addresses. A reload can change what the port serves, while the port stays open.
final class HTTPServing: Sendable {
  /// How many connections the server accepts above the limit. A connection that is closed to admit another one still
  /// counts for a moment.
  private static let slack = 12
  /// How long clients have to close their connections.
  private static let farewell = TimeAmount.milliseconds(250)

  var offer: HTTPOutput.Offer { present.site.offer }
  private let present: PresentSite
  private let name: String
  private let traffic: OutputTraffic
  private let sink: JournalSink
  private let listeners: Guarded<[Listener]>
  private let missing: MissingPorts
  /// The problems with ports that were already reported.
  private let said = Guarded<Set<String>>([])
  private let isEnding = Guarded(false)
  private let connections: HTTPConnections
  private let group: MultiThreadedEventLoopGroup

  /// A weak reference to the server, for the retries of `missing`, which is created before the server is complete.
  private final class WeakReference: Sendable {
    private let weak = Guarded(WeakServing())

    var serving: HTTPServing? {
      get { weak.withLock { $0.serving } }
      set { weak.withLock { $0.serving = newValue } }
    }
  }

  private struct WeakServing { weak var serving: HTTPServing? }

  private enum Phase { case opening, open, over }

  /// The port at one address.
  private struct Listener {
    var socket: TCPAddress
    var server: Server<HTTP1Channel>
    var task: Task<Void, Never>
    var phase: MutableProperty<Phase>
  }

  /// Tries again to open the port at the addresses where this has failed, and reports the results. Clients at the other
  /// addresses stay connected.
  func reopen() {
    said.withLock { $0 = [] }
    retry()
  }

  private func retry() {
    if isEnding.withLock({ $0 }) { return }
    listeners.withLock { listeners in
      for index in listeners.indices where listeners[index].phase.value == .over {
        listeners[index] = listen(at: listeners[index].socket)
      }
    }
  }

  /// - Parameters:
  ///   - name: the name in the log, for example `dashboard`
  ///   - places: the number of connections for which the process has file descriptors
  ///   - patience: the permitted idle times of a connection
  ///   - timer: the time by which they are checked
  ///   - routes: the served routes, given the source of event streams
  init(
    _ name: String, _ offer: HTTPOutput.Offer, places: Int, patience: ConnectionPatience.Limits = .init(),
    timer: ConnectionTimer = .ofEventLoop, traffic: OutputTraffic, sink: JournalSink,
    on group: MultiThreadedEventLoopGroup,
    routes: (EventStreams) -> [HTTPRoute]
  ) {
    self.name = name
    self.traffic = traffic
    self.group = group
    self.sink = sink
    let stalled = HTTPServing.stalledLines(name, to: sink)
    let connections = HTTPConnections(
      places: places, patience: patience, timer: timer, traffic: traffic.http
    ) { limit in
      sink.write(
        .warning, "the web port has \(limit) connections, the maximum: it closes idle ones")
    } reportStalled: { peer, waitingCount in
      guard stalled.admit() else { return }
      sink.write(
        .warning,
        "\(name): \(peer) is cut off with \(waitingCount) bytes of its answer left (it has stopped reading); it may connect again"
      )
    }
    self.connections = connections
    present = PresentSite(HTTPServing.site(name, offer, connections, traffic, sink, routes))
    listeners = Guarded([])
    let reference = WeakReference()
    missing = MissingPorts { reference.serving?.retry() }
    reference.serving = self
    let opened = offer.port.endpoint.sockets.map { listen(at: $0) }
    listeners.withLock { $0 = opened }
    // Check all listeners again, because a port may have failed to open before its listener was in the list.
    review()
  }

  private static func site(
    _ name: String, _ offer: HTTPOutput.Offer, _ connections: HTTPConnections, _ traffic: OutputTraffic,
    _ sink: JournalSink, _ routes: (EventStreams) -> [HTTPRoute]
  ) -> HTTPSite {
    let places = StreamSlots(limit: connections.streamLimit) {
      sink.write(.warning, "event streams are refused: \($0)")
    }
    let streams = EventStreams(traffic: traffic.events, places: places, connections: connections)
    return HTTPSite(routes(streams), offer, wrongTokens: WrongTokens(name, sink: sink), streams: streams)
  }

  /// Serves a new offer at the same addresses. The port stays open, so that no client is refused. The clients that have
  /// sent a request have time to leave, as in `end`, and may connect again at once.
  ///
  /// - Returns: `false` if the offer is for other addresses, which need another server
  func change(to offer: HTTPOutput.Offer, routes: (EventStreams) -> [HTTPRoute]) -> Bool {
    guard offer.port.endpoint.sockets == self.offer.port.endpoint.sockets else { return false }
    let old = present.replace(with: HTTPServing.site(name, offer, connections, traffic, sink, routes))
    old.endStreams()
    // This task runs on the thread that accepts connections. Every connection is therefore either older than the task,
    // and is dismissed, or newer, and is admitted by the new settings.
    group.next().execute { [connections] in connections.dismiss(within: HTTPServing.farewell) }
    for listener in listeners.withLock({ $0 }) where listener.phase.value == .open { report(listener.socket) }
    reopen()
    return true
  }

  private func report(_ socket: TCPAddress) {
    let offer = offer
    let secret = offer.token == nil ? "" : ", with the token"
    sink.write(.notice, "\(name) on http://\(socket), open to \(offer.port.audience)\(secret)")
  }

  /// Logs at most one line a minute about clients that stop reading.
  private static func stalledLines(_ name: String, to sink: JournalSink) -> RepeatedLines {
    RepeatedLines(limit: 1, within: .seconds(60), clock: MonotonicClock()) { count in
      sink.write(.warning, "\(name): \(count) more are cut off within 60 s (they had stopped reading)")
    }
  }

  private func listen(at socket: TCPAddress) -> Listener {
    let phase = MutableProperty(Phase.opening)
    let server = present.server(
      at: socket, clientLimit: connections.limit + HTTPServing.slack, connections: connections, group: group
    ) { [weak self] in
      phase.value = .open
      self?.review()
      self?.report(socket)
    }
    // The task is detached, so that it does not learn of the hub's graceful shutdown. The library would then stop the
    // server in a new task on Dispatch's threads, which complain in the journal if they cannot set their priority.
    // `end` stops the server instead.
    let task = Task.detached(executorPreference: EventLoopTasks(group.next())) { [weak self, name] in
      do {
        try await server.run()
      } catch {
        self?.say("the \(name) is not served at \(socket) yet: \(HTTPServing.reason(error, socket)); trying again")
      }
      phase.value = .over
      self?.review()
    }
    return Listener(socket: socket, server: server, task: task, phase: phase)
  }

  /// Logs a text once, although the port is tried several times.
  private func say(_ text: String) {
    if said.withLock({ $0.insert(text).inserted }) { sink.write(.warning, text) }
  }

  private func review() {
    let isEnding = isEnding.withLock { $0 }
    // The lock keeps the results of two reviews in order.
    listeners.withLock { listeners in
      missing.set(isMissing: !isEnding && listeners.contains { $0.phase.value == .over })
    }
  }

  /// Whether the port is open at any address. Waits until that is known.
  var isOpen: Bool {
    get async {
      var isOpen = false
      for listener in listeners.withLock({ $0 }) {
        for await phase in listener.phase.readOnly.values(as: "http") where phase != .opening {
          isOpen = isOpen || phase == .open
          break
        }
      }
      return isOpen
    }
  }

  /// Closes the port after its clients had time to leave. Cancelling the server would drop connections that it has
  /// accepted and not yet handled. Its library treats that as a programming error, and ends the process.
  func end() async {
    isEnding.withLock { $0 = true }
    missing.set(isMissing: false)
    present.site.endStreams()
    let listeners = listeners.withLock { $0 }
    // A server that is stopped while it opens its port would drop connections in the same way.
    _ = await isOpen
    let rest = group.next().scheduleTask(in: HTTPServing.farewell) { [connections] in connections.closeAll() }
    for listener in listeners { try? await listener.server.shutdownGracefully() }
    for listener in listeners { await listener.task.value }
    rest.cancel()
  }

  private static func reason(_ error: any Error, _ endpoint: TCPAddress) -> String {
    guard let error = error as? IOError else { return "\(endpoint): \(error)" }
    return error.errnoCode == EADDRINUSE
      ? SocketError.portInUse(address: "\(endpoint)").description
      : SocketError.system(path: "\(endpoint)", doing: "listening on", errno: error.errnoCode).description
  }
}

/// Runs tasks on the thread of an event loop. Serving a connection then never waits for another thread. It also
/// avoids Swift's own thread pool, whose housekeeping wakes a process once a second for ever.
///
/// An event loop looks at its sockets only when it has no other work. If tasks arrived faster than the loop completes
/// them, it would never look at its sockets: no other client could connect, and the hub would not notice a client that
/// left. Therefore the loop checks its sockets after each time slice of tasks.
final class EventLoopTasks: TaskExecutor {
  /// The slice is long compared with the time to check the sockets, and short for a client that waits to connect.
  private static let slice = Duration.milliseconds(5)
  /// The loop checks its sockets whenever its next work is in the future, so this short delay is enough.
  private static let pause = TimeAmount.microseconds(50)

  private struct State {
    var jobs = Deque<UnownedJob>()
    /// Whether the loop will run the tasks, or is running them.
    var isScheduled = false
  }

  private let loop: any EventLoop
  private let clock = MonotonicClock()
  private let state = Guarded(State())

  init(_ loop: any EventLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isFirst = state.withLock { state in
      state.jobs.append(job)
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if isFirst { loop.execute { self.run() } }
  }

  private func run() {
    let end = clock.now + EventLoopTasks.slice
    repeat {
      guard let job = next() else { return }
      job.runSynchronously(on: asUnownedTaskExecutor())
    } while clock.now < end
    loop.scheduleTask(in: EventLoopTasks.pause) { self.run() }
  }

  private func next() -> UnownedJob? {
    state.withLock { state in
      let job = state.jobs.popFirst()
      if job == nil { state.isScheduled = false }
      return job
    }
  }
}
