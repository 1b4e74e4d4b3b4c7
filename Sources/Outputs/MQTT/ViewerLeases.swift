import Fusion
import Guarding
import Hub
import MonotonicTime
import Publishing

/// The requests of viewers through a broker. Each request holds a lease.
///
/// A lease lasts until its viewer ends it, the broker ends it for a viewer that is gone, or its duration is over.
/// Without a connection no viewer can end its lease, so all leases except those with a stated duration end after
/// `grace`. A broker that shuts down ends the requests of all its clients, as if each had left; the hub treats them as
/// if the connection was lost.
///
/// If requests start devices too often, a lease of its own keeps these devices awake for a while (`RequestStarts`).
final class ViewerLeases: Sendable {
  /// The maximum number of requests. One user of the broker may have at most half of them.
  static let limit = 256
  /// How long viewers have to come back after the broker was lost or shut down. After this time their leases end.
  /// A lease with a stated duration can last longer.
  static let grace = Duration.seconds(10)
  /// How long a broker may take to send its retained messages after the hub has connected.
  static let settlement = Duration.seconds(5)
  /// How long a broker that shuts down may take to publish the wills of all its clients.
  static let farewell = Duration.milliseconds(250)

  /// The present viewers, and the rate that they need.
  struct Audience: Equatable, Sendable {
    /// The names of the viewers, sorted.
    var viewers: [String] = []
    /// The highest requested rate; 0 without viewers.
    var rateHz = 0.0
  }

  private let host: HubHost
  private let clock: any MonotonicTimeSource
  private let send: @Sendable (FusedState, ViewerRequest.Stream) -> Void
  private let sendFix: @Sendable (RequestedFix, ViewerRequest.Key) -> Void
  private let expired: @Sendable (ViewerRequest.Key) -> Void
  private let state = Guarded(ViewerRequests())
  /// The alarm for the earliest end of a request.
  private let alarm: Alarm
  /// The alarm that ends unconfirmed requests.
  private let reviewAlarm: Alarm
  private let lifetime = Lifetime()
  private let latestAudience = MutableProperty(Audience())

  /// - Parameters:
  ///   - send: called with each state of each stream, on the thread that makes it
  ///   - sendFix: called with each scheduled fix, and its viewer
  ///   - expired: called when the time of a viewer's request is over, or all requests were released
  init(
    host: HubHost, clock: any MonotonicTimeSource = MonotonicClock(),
    send: @escaping @Sendable (FusedState, ViewerRequest.Stream) -> Void,
    sendFix: @escaping @Sendable (RequestedFix, ViewerRequest.Key) -> Void,
    expired: @escaping @Sendable (ViewerRequest.Key) -> Void
  ) {
    self.host = host
    self.clock = clock
    alarm = Alarm(clock: clock)
    reviewAlarm = Alarm(clock: clock)
    self.send = send
    self.sendFix = sendFix
    self.expired = expired
    host.slotOwners.add(self)
    clock.onResume { [weak self] in self?.resume(after: $0) }.store(in: lifetime)
  }

  /// The present viewers, now and after each change.
  var audience: Property<Audience> { latestAudience.readOnly }

  /// Handles a viewer's request.
  ///
  /// - Parameters:
  ///   - expirySeconds: the time after which the broker forgets the request
  ///   - isRepeated: whether the broker sends the request as a retained message after a new connection; the duration of
  ///     a running request does not start again then
  func receive(_ payload: [UInt8], expirySeconds: UInt32?, isRepeated: Bool = false, from key: ViewerRequest.Key) {
    let (interest, isValid) = ViewerRequest.read(payload, of: key.stream)
    guard isValid else { return host.traffic.mqtt.clientRefused() }
    guard let interest else {
      state.withLock { $0.forgetEnd(of: key) }
      return takeBack(key)
    }
    var timed = TimedRequest(interest, payload, expirySeconds: expirySeconds, at: clock.now)
    if isRepeated, interest.duration != nil {
      let (known, isOver) = state.withLock { $0.known(from: key) }
      if let known, !timed.isNewer(than: known) {
        // The request ended while the hub could not tell the broker.
        if isOver { return expired(key) }
        timed.end = known.end
      }
    }
    state.withLock { $0.forgetEnd(of: key) }
    take(timed, from: key, isSaidNow: !isRepeated)
  }

  private func take(_ timed: TimedRequest, from key: ViewerRequest.Key, isSaidNow: Bool = false) {
    // A viewer that repeats a request for one state wants a new state.
    if !(isSaidNow && timed.interest.kind == .oneState), renew(key, timed) { return }
    guard state.withLock({ $0.admits(key) }) else { return host.traffic.mqtt.clientRefused() }
    let now = clock.now
    let isAnswered = if case .current(let value) = timed.interest.request.form { host.hub.knows(value) } else { false }
    let isTooOften = !isAnswered && state.withLock { $0.startsTooOften(timed.interest, at: now) }
    if isTooOften { keepAwake(timed.interest.wokenParts, until: now + RequestStarts.floor) }
    let lease = lease(timed.interest, for: key)
    let (old, isNew) = state.withLock { $0.enter(ViewerRequests.Entry(timed: timed, lease: lease), for: key) }
    if isNew { host.traffic.mqtt.clientCame() }
    // Begin the new lease before ending the old one, so that a new rate causes no power cycle.
    old?.lease.cancel()
    _ = renew(key, timed)
    tellChange()
  }

  /// Keeps the devices of these parts awake. The devices of an earlier call stay awake too.
  private func keepAwake(_ parts: Set<StatePart>, until end: MonotonicInstant) {
    let all = parts.union(state.withLock { $0.floor?.parts } ?? [])
    let lease = host.subscribe(
      to: ViewRequest(rateHz: 0.001, parts: all), as: Holder("mqtt frequent requests", payer: Payer("mqtt")),
      receiveState: { _ in }, receiveFix: { _ in })
    let old = state.withLock { $0.keepAwake(ViewerRequests.Floor(parts: all, end: end, lease: lease)) }
    old?.cancel()
    _ = clock.schedule(at: end) { [weak self] in self?.endFloor(at: end) }
  }

  /// Ends the lease that `keepAwake` has made.
  ///
  /// - Parameter instant: the end that was scheduled. If the end has been moved since, the call does nothing. `nil`
  ///   ends the lease now
  private func endFloor(at instant: MonotonicInstant? = nil) {
    let lease = state.withLock { $0.endFloor(at: instant) }
    lease?.cancel()
  }

  private func takeBack(_ key: ViewerRequest.Key) {
    let now = clock.now
    if state.withLock({ $0.takeBack(key, at: now) }) { end(key) }
  }

  private func lease(_ interest: ViewerRequest, for key: ViewerRequest.Key) -> Subscription {
    let kind = interest.kind
    return host.subscribe(
      to: interest.request, as: ViewerLeases.holder(key.viewer, interest),
      receiveState: { [weak self] state in self?.receive(state, for: key, kind) },
      receiveFix: { [sendFix] fix in sendFix(fix, key) })
  }

  /// The holder of a lease: `mqtt phone 2 Hz`, or `mqtt phone` for a request without a rate. The energy of all viewers
  /// at a broker is counted for one client, because viewers choose a new name at each visit.
  static func holder(_ viewer: String, _ interest: ViewerRequest) -> Holder {
    let (name, payer) = ("mqtt \(viewer)", Payer("mqtt"))
    let id = HolderID(named: name)
    guard case .states = interest.request.form else { return Holder(name, id: id, payer: payer) }
    var rate = Text.fixed(interest.rateHz, 3)
    while rate.hasSuffix("0") { rate.removeLast() }
    if rate.hasSuffix(".") { rate.removeLast() }
    return Holder("\(name) \(rate) Hz", id: id, payer: payer)
  }

  /// Moves the end of a lease to that of a new request, if both requests ask for the same values.
  ///
  /// - Returns: `false` if there is no lease for these values
  private func renew(_ key: ViewerRequest.Key, _ timed: TimedRequest) -> Bool {
    let isSame = state.withLock { $0.renew(key, timed) }
    if isSame { setAlarm() }
    return isSame
  }

  /// Moves the ends of requests earlier by the time that the machine was suspended. See `MonotonicInstant.moveBack`.
  private func resume(after slept: Duration) {
    state.withLock { $0.goBack(by: slept) }
    setAlarm()
  }

  private func setAlarm() {
    alarm.set(asking: { state.withLock { $0.nextEnd } }) { [weak self] in self?.endDue() }
  }

  private func receive(_ value: FusedState, for key: ViewerRequest.Key, _ kind: ViewerRequest.Kind) {
    if state.withLock({ $0.publishes(for: key, kind) }) { send(value, key.stream) }
  }

  /// Ends the requests whose time is over. If the earliest one was extended while the alarm went off, none may be due.
  private func endDue() {
    let now = clock.now
    let ended = end { $0.due(at: now) }
    for key in ended { expired(key) }
    if ended.isEmpty { setAlarm() }
  }

  func isAskedFor(_ stream: ViewerRequest.Stream, byOthersThan viewer: String) -> Bool {
    state.withLock { state in state.entries.keys.contains { $0.stream == stream && $0.viewer != viewer } }
  }

  func end(_ key: ViewerRequest.Key) { end { _ in [key] } }

  /// Ends the requests that `choose` selects.
  ///
  /// - Returns: those that existed
  @discardableResult
  private func end(_ choose: (ViewerRequests) -> [ViewerRequest.Key]) -> [ViewerRequest.Key] {
    let now = clock.now
    let ended = state.withLock { state in state.end(choose(state), at: now) }
    guard !ended.isEmpty else { return [] }
    setAlarm()
    for (_, entry) in ended {
      entry.lease.cancel()
      host.traffic.mqtt.clientLeft()
    }
    tellChange()
    return ended.map(\.key)
  }

  /// Called after each connection, when the broker sends its retained messages again. A request that is not among them
  /// was removed while the hub was disconnected, or the broker has restarted and the viewer must send it again.
  func connected() {
    let hasBrokerLeft = state.withLock { $0.connected() }
    review(in: hasBrokerLeft ? ViewerLeases.grace : ViewerLeases.settlement) { !$0.isConfirmed }
  }

  /// Called when the broker shuts down. Requests that it ends now, or ended just before, stay until their viewers
  /// have had time to come back, whatever their duration. Only the first call for a connection counts.
  func brokerLeaves() {
    let now = clock.now
    let takenBack = state.withLock { $0.brokerLeaves(at: now) }
    guard let takenBack else { return }
    for one in takenBack {
      take(one.timed, from: one.key)
      state.withLock { $0.markTakenBack(one.key) }
    }
    // If the broker does not shut down after all, the review ends the withdrawn requests.
    review(in: ViewerLeases.grace) { !$0.isConfirmed }
  }

  /// Called when the connection has ended, and after each failed attempt to connect.
  func disconnected() {
    let wasConnected = state.withLock { $0.disconnected() }
    if wasConnected { review(in: ViewerLeases.grace) { _ in true } }
  }

  private func review(in duration: Duration, _ ends: @escaping @Sendable (ViewerRequests.Entry) -> Bool) {
    reviewAlarm.set(at: clock.now + duration) { [weak self] in self?.end { $0.reviewed(ends) } }
  }

  private func tellChange() {
    // The change is staged under the lock, so that after two concurrent changes the later one is delivered last.
    let mustDeliver = state.withLock { state in
      let audience = state.audience
      return audience != latestAudience.value && latestAudience.stage(audience)
    }
    if mustDeliver { latestAudience.deliver() }
  }

  /// Ends all requests, and refuses later ones.
  func end() {
    state.withLock { $0.end() }
    reviewAlarm.end()
    alarm.end()
    end { Array($0.entries.keys) }
    endFloor()
  }
}

extension ViewerLeases: SlotOwner {
  var slotKind: String { "interests" }

  /// Ends all requests, and removes them from the broker too.
  func releaseAll() -> Int {
    let keys = state.withLock { Array($0.entries.keys) }
    for key in keys {
      end(key)
      expired(key)
    }
    endFloor()
    return keys.count
  }
}
