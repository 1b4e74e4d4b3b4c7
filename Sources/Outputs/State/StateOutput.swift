import Fusion
import Guarding
import Hub
import MonotonicTime
import Publishing

/// The fused state, one JSON object per line. A connection is a subscription, so it powers the devices. If the
/// client's first request names parts, only the devices for these parts are powered.
struct StateOutput: StreamOutput {
  let host: HubHost
  private let clock: any MonotonicTimeSource
  private let encoding = SharedEncoding()

  /// - Parameter clock: the clock of the wait for a client's first request
  init(host: HubHost, clock: any MonotonicTimeSource = MonotonicClock()) {
    self.host = host
    self.clock = clock
  }

  func serve(_ connection: StreamConnection) -> (any StreamSession)? {
    let session = StateSession(connection, host: host, encoding: encoding, clock: clock)
    session.waitForRequest()
    return session
  }
}

/// A client of the state. It may request states at a rate and with some parts, or fixes. It may also request a
/// calibration, a change or list of fences, or the release of all slots, and it may state its name.
private final class StateSession: StreamSession {
  /// The time to wait for a request. A client with a request sends it at once, and a client without a request should
  /// not wait long.
  private static let requestTime = Duration.milliseconds(25)

  private struct State {
    var subscription: Subscription?
    var hasRequested = false
    var isOver = false
    // The last request. Members that a new request does not name stay unchanged.
    var client: ClientPeer?
    var request = ViewRequest()
    /// The calibration, for a client that requested one instead of states.
    var calibration: HubCalibration?
    /// The search for the board's position, for a client that adds a fence around that position.
    var search: Subscription?
  }

  private let connection: StreamConnection
  private let host: HubHost
  private let encoding: SharedEncoding
  /// The time to wait for a request before all devices wake. On a busy machine, other processes may run between a
  /// client's connection and its first bytes. A client that has bound its end of the connection to a name announces a
  /// request in this way, and gets more time.
  private let patience: Duration
  private let clock: any MonotonicTimeSource
  /// The alarm for the end of the wait for a request.
  private let alarm: Alarm
  private let state = Guarded(State())
  private let requests = Guarded(StateRequests())
  /// The time of the newest state that was sent.
  private let sent = Guarded(MonotonicFilter())

  init(_ connection: StreamConnection, host: HubHost, encoding: SharedEncoding, clock: any MonotonicTimeSource) {
    self.connection = connection
    self.host = host
    self.encoding = encoding
    self.clock = clock
    alarm = Alarm(clock: clock)
    patience = UnixSocket.isNamed(connection.descriptor) ? StreamClient.hearing : StateSession.requestTime
  }

  func waitForRequest() {
    alarm.set(at: clock.now + patience) { [weak self] in
      guard let self, !state.withLock({ $0.hasRequested || $0.isOver }) else { return }
      // The request has arrived, but the server has not read it yet, because this machine is busy.
      if connection.hasUnread { return waitForRequest() }
      subscribe(as: connection.peer.holder(), to: ViewRequest(), isRequested: false)
    }
  }

  private func subscribe(as holder: Holder, to request: ViewRequest, isRequested: Bool = true) {
    let new = host.subscribe(
      to: request, as: holder, receiveState: { [weak self] in self?.send($0) },
      receiveFix: { [connection] fix in
        var json = JSONWriter()
        RequestedFixReport.write(fix, to: &json)
        connection.send(json.bytes)
      })
    take(new, isRequested: isRequested)
  }

  /// Sends a state. After a request for another rate there are two streams for a moment. The old one may still deliver
  /// states that are not newer than the last one, and these are left out.
  private func send(_ state: FusedState) {
    encoding.withBytes(at: state.at, encode: { StateReport.write(state, to: &$0) }) { bytes in
      sent.withLock { if $0.take(state.at) { connection.send(bytes) } }
    }
  }

  private func take(_ new: Subscription, isRequested: Bool) {
    let old = state.withLock { state in
      if state.isOver || state.hasRequested && !isRequested { return Optional(new) }
      defer { state.subscription = new }
      return state.subscription
    }
    // Begin the new subscription before ending the old one, so that a new rate causes no power cycle.
    old?.cancel()
  }

  func receive(_ bytes: UnsafeBufferPointer<UInt8>) {
    for request in requests.withLock({ $0.take(bytes) }) { serve(request) }
  }

  private func serve(_ line: StateRequests.Line) {
    // Once a client has sent anything, the timer must not subscribe it to the whole state.
    state.withLock { $0.hasRequested = true }
    alarm.end()
    func refuse(_ message: String) {
      var json = JSONWriter(capacity: 512)
      json.beginObject()
      json.member("class", "ERROR")
      json.member("message", message)
      json.endObject()
      json.endLine()
      connection.answer(json.bytes)
    }
    let request: StateRequests.Request
    switch line {
    case .request(let known): request = known
    case .refused(let reason): return refuse(reason)
    case .none:
      let parts = StatePart.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
      return refuse(
        #"send {"rateHz": 0.01 to 1000, "name": "name of your program", "parts": some of [\#(parts)]}, or for regular fixes "#
          + #"{"every": 1 to 604800 seconds, "accuracy": 0.1 to 10000 metres, "within": 1 to 3600 seconds, "#
          + #""name": "name of your program"}"#)
    }
    if request.view.asksForFixes, let lack = host.lackOfFixes { return refuse(lack) }
    if request.release != nil { return releaseAll() }
    if request.asksForFences { return serveFences(request) }
    if let kind = request.calibrate.flatMap(CalibrationKind.init) { return calibrate(kind, request) }
    let wanted = state.withLock { state in
      if let client = request.name.flatMap(connection.peer.called) { state.client = client }
      state.request.change(to: request.view)
      return (holder: (state.client ?? connection.peer).holder(), request: state.request)
    }
    subscribe(as: wanted.holder, to: wanted.request)
  }

  /// Ends the slots of all users, if the client has the right to do so.
  private func releaseAll() {
    var json = JSONWriter(capacity: 512)
    json.beginObject()
    if LocalRights.mayChange(connection.descriptor) {
      json.member("class", literal: "RELEASED")
      for (kind, count) in host.slotOwners.releaseAll() {
        json.key(dynamic: kind)
        json.integer(count)
      }
    } else {
      json.member("class", literal: "ERROR")
      json.member("reason", CalibrationRefusal.Reason.noPermission.rawValue)
      json.member("message", "you may not end the holds, recordings and requests of other users: \(LocalRights.lack)")
      json.member("nextStep", LocalRights.nextStep(for: "sensorhub release"))
    }
    json.endObject()
    json.endLine()
    connection.answer(json.bytes)
    connection.hangUp()
  }

  /// Lists the fences for any client, and adds or removes a fence for a client that has the right to do so.
  private func serveFences(_ request: StateRequests.Request) {
    func send(_ write: (inout JSONWriter) -> Void) {
      var json = JSONWriter(capacity: 512)
      write(&json)
      connection.answer(json.bytes)
      connection.hangUp()
    }
    if request.fences != nil {
      return send {
        FenceReport.write(host.fences.snapshots, added: host.fences.addedNames, at: host.now, to: &$0)
      }
    }
    guard LocalRights.mayChange(connection.descriptor) else {
      return send { json in
        StateSession.refuse(
          "you may not change fences: \(LocalRights.lack)", because: .noPermission,
          nextStep: LocalRights.nextStep(for: "sensorhub fence"), to: &json)
      }
    }
    // A change waits for the disk, and this thread serves all clients.
    let change: @Sendable () -> Void = { [self] in
      if let name = request.removeFence { return removeFence(name) }
      if let order = request.fence { addFence(order, request) }
    }
    if DetachedThread.start("fences", change) != 0 { change() }
  }

  private func removeFence(_ name: String) {
    var json = JSONWriter(capacity: 512)
    do throws(FenceRefusal) {
      let isKept = try host.fences.remove(name)
      FenceReport.write(name: name, isRemoved: true, isKept: isKept, nil, to: &json)
    } catch {
      StateSession.refuse("\(error)", to: &json)
    }
    connection.answer(json.bytes)
    connection.hangUp()
  }

  private func addFence(_ order: FenceOrder, _ request: StateRequests.Request) {
    let client = request.name.flatMap(connection.peer.called) ?? connection.peer
    let search = host.add(order, as: client.holder()) { [connection] outcome, refusal in
      var json = JSONWriter(capacity: 512)
      if let outcome {
        FenceReport.write(
          name: outcome.fence.name, isRemoved: false, isKept: outcome.isKept, outcome.fence, to: &json)
      } else {
        StateSession.refuse("\(refusal ?? .noPosition)", to: &json)
      }
      connection.answer(json.bytes)
      connection.hangUp()
    }
    let old = state.withLock { state in
      if state.isOver { return search }
      defer { state.search = search }
      return state.search
    }
    old?.cancel()
  }

  private static func refuse(
    _ message: String, because reason: CalibrationRefusal.Reason? = nil, nextStep: String? = nil,
    to json: inout JSONWriter
  ) {
    json.beginObject()
    json.member("class", literal: "ERROR")
    json.member("reason", reason?.rawValue)
    json.member("message", message)
    json.member("nextStep", nextStep)
    json.endObject()
    json.endLine()
  }

  private func calibrate(_ kind: CalibrationKind, _ request: StateRequests.Request) {
    // A client runs one calibration at a time, and receives no states while it runs.
    let (isFirst, subscription) = state.withLock { state in
      defer { state.subscription = nil }
      return (state.calibration == nil, state.subscription)
    }
    subscription?.cancel()
    guard isFirst else { return }
    let client = request.name.flatMap(connection.peer.called) ?? connection.peer
    let calibration = HubCalibration.begin(kind, of: request.device, as: client.holder(), for: connection, by: host)
    let isTooLate = state.withLock { state in
      state.calibration = calibration
      return state.isOver
    }
    if isTooLate { calibration?.end() }
  }

  func end() {
    let (subscription, calibration, search) = state.withLock { state in
      state.isOver = true
      defer {
        state.subscription = nil
        state.calibration = nil
        state.search = nil
      }
      return (state.subscription, state.calibration, state.search)
    }
    search?.cancel()
    alarm.end()
    subscription?.cancel()
    calibration?.end()
  }
}
