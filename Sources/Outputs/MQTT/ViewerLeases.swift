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
  /// How long after a connection a broker may take to send its retained messages.
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

  /// A viewer's request, and when it ends.
  private struct TimedRequest {
    var interest: ViewerRequest
    var payload: [UInt8]
    /// The time until which the broker stores the request; `nil` if it has no end.
    var expiry: MonotonicInstant?
    var end: MonotonicInstant?

    init(_ interest: ViewerRequest, _ payload: [UInt8], expirySeconds: UInt32?, at now: MonotonicInstant) {
      self.interest = interest
      self.payload = payload
      expiry = expirySeconds.map { now + .seconds(Int64($0)) }
      end = [interest.duration.map { now + $0 }, expiry].compactMap { $0 }.min()
    }

    mutating func goBack(by slept: Duration) {
      expiry?.moveBack(by: slept)
      end?.moveBack(by: slept)
    }

    /// Whether the viewer sent this request after `other`. In a repeated message, the broker counts the expiry down
    /// in whole seconds.
    func isNewer(than other: TimedRequest) -> Bool {
      if payload != other.payload { return true }
      guard let expiry else { return false }
      return other.expiry.map { expiry > $0 + .seconds(2) } ?? true
    }
  }

  /// A request that its viewer has withdrawn.
  private struct TakenBack {
    var key: ViewerRequest.Key
    var timed: TimedRequest
    var at: MonotonicInstant
  }

  private struct Entry {
    var timed: TimedRequest
    var lease: Subscription
    /// Whether the request has come since the last connection, for the first time or again.
    var isConfirmed = true
    /// Whether the request was withdrawn, by the viewer or by a broker that shuts down. It ends at the next review
    /// unless the viewer repeats it.
    var isTakenBack = false
  }

  /// Keeps devices awake that viewers have started too often.
  private struct Floor {
    var parts: Set<StatePart>
    var end: MonotonicInstant
    var lease: Subscription
  }

  private struct State {
    var entries: [ViewerRequest.Key: Entry] = [:]
    var starts = RequestStarts()
    var floor: Floor?
    /// The requests whose time is over, until the broker no longer stores them.
    var over: [ViewerRequest.Key: TimedRequest] = [:]
    /// For each stream, the request whose values are published for all viewers.
    var fastest: [ViewerRequest.Stream: ViewerRequest.Key] = [:]
    var isConnected = false
    /// When the broker announced its end, since the last connection.
    var brokerLeftAt: MonotonicInstant?
    /// The requests that were withdrawn within the last `farewell`. If the broker shuts down, it may have withdrawn
    /// them, and not their viewers.
    var takenBack: [TakenBack] = []
    var isOver = false

    /// Whether a new lease may start a device: the leases for states do not need all its parts already. A lease for
    /// fixes or for one state lets its devices sleep in between.
    func mayStartDevice(_ interest: ViewerRequest) -> Bool {
      let awake = entries.values.reduce(into: floor?.parts ?? []) { awake, entry in
        if entry.timed.interest.keepsAwake { awake.formUnion(entry.timed.interest.wokenParts) }
      }
      return !awake.isSuperset(of: interest.wokenParts)
    }

    mutating func chooseFastest() {
      fastest = [:]
      // The entries are sorted, so that of two equal rates the same one wins each time.
      for (key, entry) in entries.sorted(by: { $0.key.viewer < $1.key.viewer })
      where entry.timed.interest.kind == .states {
        let present = fastest[key.stream].flatMap { entries[$0]?.timed.interest.rateHz } ?? 0
        if entry.timed.interest.rateHz > present { fastest[key.stream] = key }
      }
    }
  }

  private let host: HubHost
  private let clock: any MonotonicTimeSource
  private let send: @Sendable (FusedState, ViewerRequest.Stream) -> Void
  private let sendFix: @Sendable (RequestedFix, ViewerRequest.Key) -> Void
  private let expired: @Sendable (ViewerRequest.Key) -> Void
  private let state = Guarded(State())
  /// Set to the earliest end of a request.
  private let alarm: Alarm
  /// Ends unconfirmed requests.
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

  /// Takes a viewer's request.
  ///
  /// - Parameters:
  ///   - expirySeconds: the time after which the broker forgets the request
  ///   - isRepeated: whether the broker sends the request as a retained message after a new connection; the duration of
  ///     a running request does not start again then
  func receive(_ payload: [UInt8], expirySeconds: UInt32?, isRepeated: Bool = false, from key: ViewerRequest.Key) {
    let (interest, isValid) = ViewerRequest.read(payload, of: key.stream)
    guard isValid else { return host.traffic.mqtt.clientRefused() }
    guard let interest else {
      state.withLock { $0.over[key] = nil }
      return takeBack(key)
    }
    var timed = TimedRequest(interest, payload, expirySeconds: expirySeconds, at: clock.now)
    if isRepeated, interest.duration != nil {
      let (known, isOver) = state.withLock { state in
        (state.entries[key]?.timed ?? state.over[key], state.over[key] != nil)
      }
      if let known, !timed.isNewer(than: known) {
        // The request ended while the hub could not tell the broker.
        if isOver { return expired(key) }
        timed.end = known.end
      }
    }
    state.withLock { $0.over[key] = nil }
    take(timed, from: key, isSaidNow: !isRepeated)
  }

  private func take(_ timed: TimedRequest, from key: ViewerRequest.Key, isSaidNow: Bool = false) {
    // A viewer that repeats a request for one state wants a new state.
    if !(isSaidNow && timed.interest.kind == .oneState), renew(key, timed) { return }
    guard state.withLock({ !$0.isOver && ($0.entries[key] != nil || ViewerLeases.hasSlot(for: key, in: $0)) }) else {
      return host.traffic.mqtt.clientRefused()
    }
    let now = clock.now
    let isTooOften = state.withLock { $0.mayStartDevice(timed.interest) && $0.starts.note(at: now) }
    if isTooOften { keepAwake(timed.interest.wokenParts, until: now + RequestStarts.floor) }
    let lease = lease(timed.interest, for: key)
    let (old, isNew): (Entry?, Bool) = state.withLock { state in
      guard !state.isOver else { return (Entry(timed: timed, lease: lease), false) }
      let old = state.entries.updateValue(Entry(timed: timed, lease: lease), forKey: key)
      state.chooseFastest()
      return (old, old == nil)
    }
    if isNew { host.traffic.mqtt.clientCame() }
    // Begin the new lease before ending the old one, so that a new rate causes no power cycle.
    old?.lease.cancel()
    _ = renew(key, timed)
    tellChange()
  }

  /// Keeps the devices of these parts awake, in addition to those that are kept awake already.
  private func keepAwake(_ parts: Set<StatePart>, until end: MonotonicInstant) {
    let all = parts.union(state.withLock { $0.floor?.parts } ?? [])
    let lease = host.subscribe(
      to: ViewRequest(rateHz: 0.001, parts: all), as: Holder("mqtt frequent requests", payer: Payer("mqtt")),
      receiveState: { _ in }, receiveFix: { _ in })
    let old: Subscription? = state.withLock { state in
      guard !state.isOver else { return lease }
      defer { state.floor = Floor(parts: all, end: end, lease: lease) }
      return state.floor?.lease
    }
    old?.cancel()
    _ = clock.schedule(at: end) { [weak self] in self?.endFloor(at: end) }
  }

  /// - Parameter instant: the end that has come; `nil` to end it now
  private func endFloor(at instant: MonotonicInstant? = nil) {
    let lease: Subscription? = state.withLock { state in
      guard instant == nil || state.floor?.end == instant else { return nil }
      defer { state.floor = nil }
      return state.floor?.lease
    }
    lease?.cancel()
  }

  private static func hasSlot(for key: ViewerRequest.Key, in state: State) -> Bool {
    let users = state.entries.keys.lazy.map { SlotUser(viewer: $0.viewer) }
    return SlotUser(viewer: key.viewer).refusal(to: limit, among: users) == nil
  }

  private func takeBack(_ key: ViewerRequest.Key) {
    let now = clock.now
    let isTheBrokers = state.withLock { state in
      guard let entry = state.entries[key] else { return false }
      if let at = state.brokerLeftAt, now - at < ViewerLeases.grace {
        state.entries[key]?.isTakenBack = true
        return true
      }
      state.takenBack.removeAll { now - $0.at > ViewerLeases.farewell }
      if state.takenBack.count < ViewerLeases.limit {
        state.takenBack.append(TakenBack(key: key, timed: entry.timed, at: now))
      }
      return false
    }
    if !isTheBrokers { end(key) }
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
    let isSame = state.withLock { state in
      guard var entry = state.entries[key], entry.timed.interest == timed.interest else { return false }
      entry.timed = timed
      (entry.isConfirmed, entry.isTakenBack) = (true, false)
      state.entries[key] = entry
      return true
    }
    if isSame { setAlarm() }
    return isSame
  }

  /// Moves the ends of requests earlier by the time that the machine was suspended. See `MonotonicInstant.moveBack`.
  private func resume(after slept: Duration) {
    state.withLock { state in
      for key in state.entries.keys { state.entries[key]?.timed.goBack(by: slept) }
      for key in state.over.keys { state.over[key]?.goBack(by: slept) }
    }
    setAlarm()
  }

  private func setAlarm() {
    alarm.set(asking: { state.withLock { $0.entries.values.compactMap(\.timed.end).min() } }) { [weak self] in
      self?.endDue()
    }
  }

  private func receive(_ value: FusedState, for key: ViewerRequest.Key, _ kind: ViewerRequest.Kind) {
    let isToGo = state.withLock { state in
      switch kind {
      case .states: state.fastest[key.stream] == key
      case .someStates: state.fastest[key.stream] == nil
      case .oneState, .fixes: true
      }
    }
    if isToGo { send(value, key.stream) }
  }

  /// Ends the requests whose time is over. If the first one was extended while the alarm went off, there may be none.
  private func endDue() {
    let now = clock.now
    let ended = end { state in
      let due = state.entries.compactMap { key, entry in entry.timed.end.flatMap { $0 <= now ? (key, $0) : nil } }
      return due.sorted { $0.1 < $1.1 }.map(\.0)
    }
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
  private func end(_ choose: (State) -> [ViewerRequest.Key]) -> [ViewerRequest.Key] {
    let now = clock.now
    let ended = state.withLock { state in
      var ended: [(key: ViewerRequest.Key, entry: Entry)] = []
      for key in choose(state) {
        guard let entry = state.entries.removeValue(forKey: key) else { continue }
        ended.append((key, entry))
        // If the table is full, its entries are old or a client has filled it, so it may be cleared.
        if state.over.count >= ViewerLeases.limit { state.over.removeAll() }
        if let end = entry.timed.end, end <= now { state.over[key] = entry.timed }
      }
      state.chooseFastest()
      return ended
    }
    guard !ended.isEmpty else { return [] }
    setAlarm()
    for (_, entry) in ended {
      entry.lease.cancel()
      host.traffic.mqtt.clientLeft()
    }
    tellChange()
    return ended.map(\.key)
  }

  /// Called after each connection, when the broker sends its retained messages again. A request that is missing then
  /// was removed while the hub was disconnected, or the broker has restarted and the viewer must send it again.
  func connected() {
    let hasBrokerLeft = state.withLock { state in
      state.isConnected = true
      for key in state.entries.keys { state.entries[key]?.isConfirmed = false }
      state.takenBack = []
      defer { state.brokerLeftAt = nil }
      return state.brokerLeftAt != nil
    }
    review(in: hasBrokerLeft ? ViewerLeases.grace : ViewerLeases.settlement) { !$0.isConfirmed }
  }

  /// Called when the broker shuts down. Requests that it ends now, or ended just before, stay until their viewers
  /// have had time to come back, whatever their duration. Only the first call for a connection counts.
  func brokerLeaves() {
    let now = clock.now
    let takenBack: [TakenBack]? = state.withLock { state in
      // A broker shuts down only once. Without this check, repeated announcements would keep all viewers for ever.
      guard state.brokerLeftAt == nil else { return nil }
      state.brokerLeftAt = now
      defer { state.takenBack = [] }
      return state.takenBack.filter { now - $0.at <= ViewerLeases.farewell && state.entries[$0.key] == nil }
    }
    guard let takenBack else { return }
    for one in takenBack {
      take(one.timed, from: one.key)
      state.withLock { $0.entries[one.key]?.isTakenBack = true }
    }
    // If the broker does not shut down after all, the review ends the withdrawn requests.
    review(in: ViewerLeases.grace) { !$0.isConfirmed }
  }

  /// Called when the connection has ended, and after each failed attempt to connect.
  func disconnected() {
    let wasConnected = state.withLock { state in
      defer { state.isConnected = false }
      return state.isConnected
    }
    if wasConnected { review(in: ViewerLeases.grace) { _ in true } }
  }

  private func review(in duration: Duration, _ ends: @escaping @Sendable (Entry) -> Bool) {
    reviewAlarm.set(at: clock.now + duration) { [weak self] in
      self?.end { state in
        let ended = state.entries.filter { $1.isTakenBack || ends($1) && $1.timed.interest.duration == nil }
        return Array(ended.keys)
      }
    }
  }

  private func tellChange() {
    // The change is staged under the lock, so that after two concurrent changes the later one is delivered last.
    let mustDeliver = state.withLock { state in
      let audience = Audience(
        viewers: Set(state.entries.keys.map(\.viewer)).sorted(),
        rateHz: state.entries.values.map(\.timed.interest.rateHz).max() ?? 0)
      return audience != latestAudience.value && latestAudience.stage(audience)
    }
    if mustDeliver { latestAudience.deliver() }
  }

  /// Ends all requests, and refuses later ones.
  func end() {
    state.withLock { $0.isOver = true }
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
