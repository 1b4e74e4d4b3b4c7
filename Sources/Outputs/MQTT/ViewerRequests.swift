import Hub
import MonotonicTime
import Publishing

/// A viewer's request, and when it ends.
struct TimedRequest {
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
  /// in whole seconds, so a slightly later expiry does not show a new request.
  func isNewer(than other: TimedRequest) -> Bool {
    if payload != other.payload { return true }
    guard let expiry else { return false }
    return other.expiry.map { expiry > $0 + .seconds(2) } ?? true
  }
}

/// The requests of all viewers at a broker. This type decides which ones begin and end; `ViewerLeases` acts.
struct ViewerRequests {
  /// A request that its viewer has withdrawn.
  struct TakenBack {
    var key: ViewerRequest.Key
    var timed: TimedRequest
    var at: MonotonicInstant
  }

  struct Entry {
    var timed: TimedRequest
    var lease: Subscription
    /// Whether the broker has sent the request since the hub last connected. A request without a duration ends at the
    /// next review if the broker has not sent it by then.
    var isConfirmed = true
    /// Whether the request was withdrawn, by the viewer or by a broker that shuts down. It ends at the next review
    /// unless the viewer repeats it.
    var isTakenBack = false
  }

  /// A lease that keeps awake the devices that viewers have started too often.
  struct Floor {
    var parts: Set<StatePart>
    var end: MonotonicInstant
    var lease: Subscription
  }

  private(set) var entries: [ViewerRequest.Key: Entry] = [:]
  private var starts = RequestStarts()
  private(set) var floor: Floor?
  /// The requests whose time is over, until the broker no longer stores them.
  private var over: [ViewerRequest.Key: TimedRequest] = [:]
  /// For each stream, the request whose values are published for all viewers.
  private var fastest: [ViewerRequest.Stream: ViewerRequest.Key] = [:]
  private var isConnected = false
  /// When the broker announced that it shuts down; `nil` if it has not done so since the hub last connected.
  private var brokerLeftAt: MonotonicInstant?
  /// The requests that were withdrawn within the last `farewell`. If the broker shuts down, it may have withdrawn them
  /// itself, for viewers that are still there.
  private var takenBack: [TakenBack] = []
  private(set) var isOver = false

  // MARK: New requests

  /// The earlier request of a viewer, and whether its time is over.
  func known(from key: ViewerRequest.Key) -> (timed: TimedRequest?, isOver: Bool) {
    (entries[key]?.timed ?? over[key], over[key] != nil)
  }

  /// Forgets that the time of a viewer's request is over, because the broker no longer stores the request.
  mutating func forgetEnd(of key: ViewerRequest.Key) { over[key] = nil }

  /// Whether there is a slot for a viewer's request.
  func admits(_ key: ViewerRequest.Key) -> Bool {
    if isOver { return false }
    if entries[key] != nil { return true }
    let users = entries.keys.lazy.map { SlotUser(viewer: $0.viewer) }
    return SlotUser(viewer: key.viewer).refusal(to: ViewerLeases.limit, among: users) == nil
  }

  /// Counts a new lease that may start a device. Returns whether such leases come too often.
  mutating func startsTooOften(_ interest: ViewerRequest, at now: MonotonicInstant) -> Bool {
    mayStartDevice(interest) && starts.note(at: now)
  }

  /// Whether a new lease may start a device, because the present leases for states do not keep all of the request's
  /// parts awake already. Leases for fixes or for one state do not count: they let their devices sleep in between.
  private func mayStartDevice(_ interest: ViewerRequest) -> Bool {
    let awake = entries.values.reduce(into: floor?.parts ?? []) { awake, entry in
      if entry.timed.interest.keepsAwake { awake.formUnion(entry.timed.interest.wokenParts) }
    }
    return !awake.isSuperset(of: interest.wokenParts)
  }

  /// Enters a request with its lease. Returns the entry that the request replaces, whose lease must end, and whether
  /// the viewer is new. If no requests are accepted any more, returns the entry itself, because its lease must end.
  mutating func enter(_ entry: Entry, for key: ViewerRequest.Key) -> (old: Entry?, isNew: Bool) {
    if isOver { return (entry, false) }
    let old = entries.updateValue(entry, forKey: key)
    chooseFastest()
    return (old, old == nil)
  }

  /// Moves the end of a request to that of a new one, if both ask for the same values.
  ///
  /// - Returns: `false` if there is no request for these values
  mutating func renew(_ key: ViewerRequest.Key, _ timed: TimedRequest) -> Bool {
    guard var entry = entries[key], entry.timed.interest == timed.interest else { return false }
    entry.timed = timed
    (entry.isConfirmed, entry.isTakenBack) = (true, false)
    entries[key] = entry
    return true
  }

  // MARK: Devices that start too often

  /// Replaces the lease that keeps devices awake. Returns the lease that must end: the replaced one, or the new one if
  /// no requests are accepted any more.
  mutating func keepAwake(_ floor: Floor) -> Subscription? {
    if isOver { return floor.lease }
    defer { self.floor = floor }
    return self.floor?.lease
  }

  /// Removes the lease that keeps devices awake. Returns it, because the caller must end it.
  ///
  /// - Parameter instant: the time at which the lease was due to end; if the end has moved since, the lease stays.
  ///   `nil` removes the lease in any case
  mutating func endFloor(at instant: MonotonicInstant?) -> Subscription? {
    guard instant == nil || floor?.end == instant else { return nil }
    defer { floor = nil }
    return floor?.lease
  }

  // MARK: Ends

  /// The earliest end of a request.
  var nextEnd: MonotonicInstant? { entries.values.compactMap(\.timed.end).min() }

  /// The requests whose time is over, in the order of their ends.
  func due(at now: MonotonicInstant) -> [ViewerRequest.Key] {
    let due = entries.compactMap { key, entry in entry.timed.end.flatMap { $0 <= now ? (key, $0) : nil } }
    return due.sorted { $0.1 < $1.1 }.map(\.0)
  }

  /// The requests that end at a review: those that were withdrawn, and those without a duration that meet a condition.
  func reviewed(_ ends: (Entry) -> Bool) -> [ViewerRequest.Key] {
    let ended = entries.filter { $1.isTakenBack || ends($1) && $1.timed.interest.duration == nil }
    return Array(ended.keys)
  }

  /// Removes requests. Returns those that existed.
  mutating func end(
    _ keys: [ViewerRequest.Key], at now: MonotonicInstant
  ) -> [(key: ViewerRequest.Key, entry: Entry)] {
    var ended: [(key: ViewerRequest.Key, entry: Entry)] = []
    for key in keys {
      guard let entry = entries.removeValue(forKey: key) else { continue }
      ended.append((key, entry))
      // If the table is full, its entries are old or a client has filled it, so it may be cleared.
      if over.count >= ViewerLeases.limit { over.removeAll() }
      if let end = entry.timed.end, end <= now { over[key] = entry.timed }
    }
    chooseFastest()
    return ended
  }

  /// Refuses later requests.
  mutating func end() { isOver = true }

  /// Moves the ends of requests earlier by the time that the machine was suspended. See `MonotonicInstant.moveBack`.
  mutating func goBack(by slept: Duration) {
    for key in entries.keys { entries[key]?.timed.goBack(by: slept) }
    for key in over.keys { over[key]?.goBack(by: slept) }
  }

  // MARK: The broker

  /// Records that a request was withdrawn. Returns whether its viewer has withdrawn it, and not a broker that shuts
  /// down.
  mutating func takeBack(_ key: ViewerRequest.Key, at now: MonotonicInstant) -> Bool {
    guard let entry = entries[key] else { return true }
    if let at = brokerLeftAt, now - at < ViewerLeases.grace {
      entries[key]?.isTakenBack = true
      return false
    }
    takenBack.removeAll { now - $0.at > ViewerLeases.farewell }
    if takenBack.count < ViewerLeases.limit {
      takenBack.append(TakenBack(key: key, timed: entry.timed, at: now))
    }
    return true
  }

  /// Marks a request as withdrawn by a broker that shuts down.
  mutating func markTakenBack(_ key: ViewerRequest.Key) { entries[key]?.isTakenBack = true }

  /// Records a new connection, after which viewers confirm their requests. Returns whether the broker had announced its
  /// end before.
  mutating func connected() -> Bool {
    isConnected = true
    for key in entries.keys { entries[key]?.isConfirmed = false }
    takenBack = []
    defer { brokerLeftAt = nil }
    return brokerLeftAt != nil
  }

  /// Records that the broker shuts down. Returns the requests that it has withdrawn, or `nil` if this was recorded
  /// before.
  mutating func brokerLeaves(at now: MonotonicInstant) -> [TakenBack]? {
    // A broker shuts down only once. Without this check, repeated announcements would keep all viewers for ever.
    guard brokerLeftAt == nil else { return nil }
    brokerLeftAt = now
    defer { takenBack = [] }
    return takenBack.filter { now - $0.at <= ViewerLeases.farewell && entries[$0.key] == nil }
  }

  /// Records the end of the connection. Returns whether there was one.
  mutating func disconnected() -> Bool {
    defer { isConnected = false }
    return isConnected
  }

  // MARK: Values

  /// Whether a value for a viewer is published. All viewers of a stream get the states for the fastest request. States
  /// for requests that leave some out are published only if no viewer of the stream requests every state.
  func publishes(for key: ViewerRequest.Key, _ kind: ViewerRequest.Kind) -> Bool {
    switch kind {
    case .states: fastest[key.stream] == key
    case .someStates: fastest[key.stream] == nil
    case .oneState, .fixes: true
    }
  }

  var audience: ViewerLeases.Audience {
    ViewerLeases.Audience(
      viewers: Set(entries.keys.map(\.viewer)).sorted(),
      rateHz: entries.values.map(\.timed.interest.rateHz).max() ?? 0)
  }

  private mutating func chooseFastest() {
    fastest = [:]
    // The entries are sorted, so that of two equal rates the same one wins each time.
    for (key, entry) in entries.sorted(by: { $0.key.viewer < $1.key.viewer })
    where entry.timed.interest.kind == .states {
      let present = fastest[key.stream].flatMap { entries[$0]?.timed.interest.rateHz } ?? 0
      if entry.timed.interest.rateHz > present { fastest[key.stream] = key }
    }
  }
}
