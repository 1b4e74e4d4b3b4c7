import CLinux
import Guarding
import NIOCore

/// The connections of one server.
///
/// Only event streams may last; every other connection is short. If there are too many connections, the one with the
/// oldest last request, event streams excepted, is closed to admit the next one. Connections without requests therefore
/// cannot keep other clients out.
final class HTTPConnections: Sendable {
  /// The number of connections that are reserved for requests other than event streams; at most half of all
  /// connections.
  private static let reserve = 64
  /// After this number of closed connections, `returnMemory` runs.
  private static let crowd = 64

  private struct Connection {
    var channel: any Channel
    /// The number of the connection's last request, counted over all connections. The lowest number belongs to the
    /// oldest request.
    var lastAsked: Int
    var hasAsked = false
    var isStream = false
  }

  private struct State {
    var open: [ObjectIdentifier: Connection] = [:]
    var asked = 0
    /// Whether it was reported that connections are closed for lack of room. It is reset when fewer than half of the
    /// permitted connections are open.
    var isReported = false
    /// The number of connections that closed since memory was last returned to the system.
    var gone = 0
  }

  private let state = Guarded(State())
  private let traffic: OutputTraffic.Kind
  private let report: @Sendable (_ limit: Int) -> Void
  private let reportStalled: @Sendable (_ peer: String, _ waitingCount: Int) -> Void

  /// The permitted idle times of a connection.
  let patience: ConnectionPatience.Limits
  /// The time of the connections' checks.
  let timer: ConnectionTimer
  /// The maximum number of connections.
  let limit: Int
  /// The maximum number of connections that may be event streams.
  let streamLimit: Int

  /// - Parameters:
  ///   - places: the number of connections for which the process has file descriptors
  ///   - traffic: counts the present and the refused clients
  ///   - report: called when the first of several connections is closed to admit another one
  ///   - reportStalled: called with each connection that is closed because its client does not read its answer
  init(
    places: Int, patience: ConnectionPatience.Limits, timer: ConnectionTimer, traffic: OutputTraffic.Kind,
    report: @escaping @Sendable (_ limit: Int) -> Void,
    reportStalled: @escaping @Sendable (_ peer: String, _ waitingCount: Int) -> Void
  ) {
    self.patience = patience
    self.timer = timer
    self.reportStalled = reportStalled
    limit = min(places, StreamSlots.most + HTTPConnections.reserve)
    streamLimit = limit - min(limit / 2, HTTPConnections.reserve)
    self.traffic = traffic
    self.report = report
  }

  func opened(_ channel: any Channel) {
    traffic.clientCame()
    let (idle, isFirst) = state.withLock { state -> ((any Channel)?, Bool) in
      state.asked += 1
      state.open[ObjectIdentifier(channel)] = Connection(channel: channel, lastAsked: state.asked)
      guard state.open.count > limit else { return (nil, false) }
      defer { state.isReported = true }
      return (
        state.open.values.filter { !$0.isStream }.min { $0.lastAsked < $1.lastAsked }?.channel, !state.isReported
      )
    }
    guard let idle else { return }
    traffic.clientRefused()
    if isFirst { report(limit) }
    idle.close(promise: nil)
  }

  /// Counts a client that tried to connect without permission.
  func refused() { traffic.clientRefused() }

  /// Records that a request has arrived on a connection.
  func asked(_ channel: any Channel) {
    state.withLock { state in
      state.asked += 1
      state.open[ObjectIdentifier(channel)]?.lastAsked = state.asked
      state.open[ObjectIdentifier(channel)]?.hasAsked = true
    }
  }

  /// Records whether a connection's present answer is an event stream, or one that waits for a value.
  func streams(_ channel: any Channel, _ isStream: Bool) {
    state.withLock { $0.open[ObjectIdentifier(channel)]?.isStream = isStream }
  }

  /// Whether a connection's present answer is an event stream, or one that waits for a value.
  func isStream(_ channel: any Channel) -> Bool {
    state.withLock { $0.open[ObjectIdentifier(channel)]?.isStream == true }
  }

  /// Reports a connection that is closed because its client does not read its answer.
  func stalled(_ channel: any Channel, waiting count: Int) { reportStalled("\(ClientPeer(of: channel))", count) }

  func closed(_ channel: any Channel) {
    let (wasOpen, isCrowd) = state.withLock { state in
      guard state.open.removeValue(forKey: ObjectIdentifier(channel)) != nil else { return (false, false) }
      if state.open.count < limit / 2 { state.isReported = false }
      state.gone += 1
      return (true, state.gone == HTTPConnections.crowd)
    }
    if wasOpen { traffic.clientLeft() }
    if isCrowd { returnMemory(by: channel.eventLoop) }
  }

  /// Closes the present connections, each after its answer or at the latest after `limit`. A connection without a
  /// request stays, because its client does not expect that its first request fails.
  func dismiss(within limit: TimeAmount) {
    for channel in state.withLock({ $0.open.values.filter(\.hasAsked).map(\.channel) }) {
      channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
      channel.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
    }
  }

  /// Closes all connections, even if bytes wait to be sent.
  func closeAll() {
    for connection in state.withLock({ Array($0.open.values) }) { connection.channel.close(promise: nil) }
  }

  /// Returns memory to the system after many connections have closed. The allocator would keep the memory for later
  /// connections, but a small board needs it for other programs.
  private func returnMemory(by loop: any EventLoop) {
    // The connections free their memory within a second. It is worth waking an idle process once more.
    loop.scheduleTask(in: .seconds(1)) { [self] in
      state.withLock { $0.gone = 0 }
      clinux_return_memory()
    }
  }
}
