import CLinux
import Guarding
import NIOCore

/// The connections of one server.
///
/// Event streams may last; everything else is short. Where there are too many, the one that has asked for nothing for the
/// longest time makes room for the next: connections on which nothing comes cannot keep others out.
final class HTTPConnections: Sendable {
  /// Those that are kept from event streams, for everything else.
  private static let reserve = 64
  /// How many make a crowd.
  private static let crowd = 64

  private struct Connection {
    var channel: any Channel
    /// Counts requests of all connections: the lower, the longer ago was the last.
    var lastAsked: Int
    var isStream = false
  }

  private struct State {
    var open: [ObjectIdentifier: Connection] = [:]
    var asked = 0
    /// That one had to make room has been reported, until there is room again.
    var isReported = false
    /// How many have gone since memory was last given back.
    var gone = 0
  }

  private let state = Guarded(State())
  private let traffic: OutputTraffic.Kind
  private let report: @Sendable (_ limit: Int) -> Void
  private let reportStalled: @Sendable (_ peer: String, _ waitingCount: Int) -> Void

  /// For how long nothing may move on one of them.
  let patience: ConnectionPatience.Limits
  /// How many there may be at once.
  let limit: Int
  /// How many of them may be event streams.
  let streamLimit: Int

  /// - Parameters:
  ///   - places: how many the process has descriptors for
  ///   - traffic: counts those who are here, and those who were sent away
  ///   - report: called with the first connection of many that had to make room
  ///   - reportStalled: called with each that is ended as it takes nothing of its answer
  init(
    places: Int, patience: ConnectionPatience.Limits, traffic: OutputTraffic.Kind,
    report: @escaping @Sendable (_ limit: Int) -> Void,
    reportStalled: @escaping @Sendable (_ peer: String, _ waitingCount: Int) -> Void
  ) {
    self.patience = patience
    self.reportStalled = reportStalled
    limit = min(places, StreamPlaces.most + HTTPConnections.reserve)
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

  /// A client without permission has tried to connect.
  func refused() { traffic.clientRefused() }

  /// A request has come.
  func asked(_ channel: any Channel) {
    state.withLock { state in
      state.asked += 1
      state.open[ObjectIdentifier(channel)]?.lastAsked = state.asked
    }
  }

  /// The answer is an event stream, or was one.
  func streams(_ channel: any Channel, _ isStream: Bool) {
    state.withLock { $0.open[ObjectIdentifier(channel)]?.isStream = isStream }
  }

  /// Whether the answer is an event stream.
  func isStream(_ channel: any Channel) -> Bool {
    state.withLock { $0.open[ObjectIdentifier(channel)]?.isStream == true }
  }

  /// It is ended, as it takes nothing of its answer.
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

  /// Ends all open connections, whatever waits to be sent.
  func closeAll() {
    for connection in state.withLock({ Array($0.open.values) }) { connection.channel.close(promise: nil) }
  }

  /// Gives memory back to the system once a crowd has left: the allocator would keep it for the next one, and a small board
  /// has others who need it.
  private func returnMemory(by loop: any EventLoop) {
    // A second later what belonged to them has been freed; that it wakes an idle process once more is worth it.
    loop.scheduleTask(in: .seconds(1)) { [self] in
      state.withLock { $0.gone = 0 }
      clinux_return_memory()
    }
  }
}
