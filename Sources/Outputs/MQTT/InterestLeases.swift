import Fusion
import Guarding
import Hub
import MonotonicTime
import Publishing

/// What viewers at the other end of a broker ask for, each as a lease of its own.
///
/// A lease lasts until its viewer, the broker in the viewer's name, or its own time ends it. Without a connection nobody can say
/// that any more: after a while all end but those that have said for how long they are.
final class InterestLeases: Sendable {
  /// How many there may be at once.
  static let limit = 256
  /// For how long the broker may be away before nobody is taken to look any more.
  static let grace = Duration.seconds(10)
  /// How long a broker may take to say what it has retained, after a connection.
  static let settlement = Duration.seconds(5)

  private struct Entry {
    var interest: Interest
    var lease: Subscription
    var end: MonotonicInstant?
    var timer: ScheduledAction?
    /// Since the last connection.
    var isConfirmed = true
  }

  private struct State {
    var entries: [Interest.Key: Entry] = [:]
    /// Of each stream the one whose values are published: there need be no others.
    var fastest: [Interest.Stream: Interest.Key] = [:]
    var isConnected = false
    /// When those end that nobody has confirmed.
    var review: ScheduledAction?
    var isOver = false

    mutating func chooseFastest() {
      fastest = [:]
      // In an order that stays the same.
      for (key, entry) in entries.sorted(by: { $0.key.viewer < $1.key.viewer }) {
        let present = fastest[key.stream].flatMap { entries[$0]?.interest.rateHz } ?? 0
        if entry.interest.rateHz > present { fastest[key.stream] = key }
      }
    }
  }

  private let host: HubHost
  private let clock: any MonotonicTimeSource
  private let send: @Sendable (FusedState, Interest.Stream) -> Void
  private let changed: @Sendable ([String], Double) -> Void
  private let expired: @Sendable (Interest.Key) -> Void
  private let state = Guarded(State())

  /// - Parameters:
  ///   - send: given each state of each stream, on the thread that makes it
  ///   - changed: called when viewers come and go, with who looks, sorted, and how often the fastest wants a state
  ///   - expired: called where the time of what a viewer has asked for is over
  init(
    host: HubHost, clock: any MonotonicTimeSource = MonotonicClock(),
    send: @escaping @Sendable (FusedState, Interest.Stream) -> Void,
    changed: @escaping @Sendable (_ viewers: [String], _ rateHz: Double) -> Void,
    expired: @escaping @Sendable (Interest.Key) -> Void
  ) {
    self.host = host
    self.clock = clock
    self.send = send
    self.changed = changed
    self.expired = expired
  }

  /// Takes what a viewer says.
  ///
  /// - Parameter expirySeconds: after which time the broker forgets it
  func receive(_ payload: [UInt8], expirySeconds: UInt32?, from key: Interest.Key) {
    let (interest, isValid) = Interest.read(payload, of: key.stream)
    guard isValid else { return host.traffic.mqtt.clientRefused() }
    guard let interest else { return end(key) }
    let durations = [interest.duration, expirySeconds.map { .seconds(Int64($0)) }].compactMap { $0 }
    if renew(key, interest, for: durations.min()) { return }
    guard state.withLock({ !$0.isOver && ($0.entries.count < InterestLeases.limit || $0.entries[key] != nil) }) else {
      return host.traffic.mqtt.clientRefused()
    }
    let lease = host.state(rateHz: interest.rateHz, parts: interest.parts).subscribe(
      as: InterestLeases.name(key.viewer, interest),
      receiveValue: { [weak self] state in self?.receive(state, for: key) })
    let (old, isNew): (Entry?, Bool) = state.withLock { state in
      guard !state.isOver else { return (Entry(interest: interest, lease: lease), false) }
      let old = state.entries.updateValue(Entry(interest: interest, lease: lease), forKey: key)
      state.chooseFastest()
      return (old, old == nil)
    }
    if isNew { host.traffic.mqtt.clientCame() }
    // The new lease stands before the old one goes: another rate is no reason for a power cycle.
    old?.timer?.cancel()
    old?.lease.cancel()
    _ = renew(key, interest, for: durations.min())
    tellChange()
  }

  /// How the holder of a lease is listed: `mqtt phone 2 Hz`.
  static func name(_ viewer: String, _ interest: Interest) -> String {
    var rate = Text.fixed(interest.rateHz, 3)
    while rate.hasSuffix("0") { rate.removeLast() }
    if rate.hasSuffix(".") { rate.removeLast() }
    return "mqtt \(viewer) \(rate) Hz"
  }

  /// Has a lease last so long from now, if it is for the same.
  private func renew(_ key: Interest.Key, _ interest: Interest, for duration: Duration?) -> Bool {
    let end = duration.map { clock.now + $0 }
    let timer = end.map { clock.schedule(at: $0) { [weak self] in self?.isOver(key) } }
    let (isSame, old): (Bool, ScheduledAction?) = state.withLock { state in
      guard var entry = state.entries[key], entry.interest == interest else { return (false, timer) }
      let old = entry.timer
      entry.timer = timer
      entry.end = end
      entry.isConfirmed = true
      state.entries[key] = entry
      return (true, old)
    }
    old?.cancel()
    return isSame
  }

  private func receive(_ value: FusedState, for key: Interest.Key) {
    if state.withLock({ $0.fastest[key.stream] == key }) { send(value, key.stream) }
  }

  /// The time of one is over, unless it has been prolonged while the timer fired.
  private func isOver(_ key: Interest.Key) {
    if end({ state in state.entries[key]?.end.map { $0 <= clock.now } == true ? [key] : [] }) { expired(key) }
  }

  private func end(_ key: Interest.Key) { end { _ in [key] } }

  /// Returns whether there was one.
  @discardableResult
  private func end(_ choose: (State) -> [Interest.Key]) -> Bool {
    let ended = state.withLock { state in
      let ended = choose(state).compactMap { state.entries.removeValue(forKey: $0) }
      state.chooseFastest()
      return ended
    }
    guard !ended.isEmpty else { return false }
    for entry in ended {
      entry.timer?.cancel()
      entry.lease.cancel()
      host.traffic.mqtt.clientLeft()
    }
    tellChange()
    return true
  }

  /// What the broker has retained is said again now. What is not has been taken back while nobody could hear it.
  func connected() {
    state.withLock { state in
      state.isConnected = true
      for key in state.entries.keys { state.entries[key]?.isConfirmed = false }
    }
    review(in: InterestLeases.settlement) { !$0.isConfirmed }
  }

  /// Told with each failure to connect as well.
  func disconnected() {
    let wasConnected = state.withLock { state in
      defer { state.isConnected = false }
      return state.isConnected
    }
    if wasConnected { review(in: InterestLeases.grace) { _ in true } }
  }

  private func review(in duration: Duration, _ ends: @escaping @Sendable (Entry) -> Bool) {
    let review = clock.schedule(at: clock.now + duration) { [weak self] in
      self?.end { state in state.entries.filter { ends($0.value) && $0.value.interest.duration == nil }.map(\.key) }
    }
    let old = state.withLock { state in
      defer { state.review = review }
      return state.review
    }
    old?.cancel()
  }

  private func tellChange() {
    let (viewers, rateHz) = state.withLock { state in
      (Set(state.entries.keys.map(\.viewer)).sorted(), state.entries.values.map(\.interest.rateHz).max() ?? 0)
    }
    changed(viewers, rateHz)
  }

  /// Ends all of them, those to come included.
  func end() {
    let review = state.withLock { state in
      state.isOver = true
      return state.review
    }
    review?.cancel()
    end { Array($0.entries.keys) }
  }
}
