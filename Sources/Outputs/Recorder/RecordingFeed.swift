import Fusion
import Hub
import MonotonicTime
import Publishing
import Recording

/// The data that a recording contains: information about its origin, the log, the power of each device, the fused
/// state, and the devices' measurements.
struct RecordingFeed: Sendable {
  /// Which devices a recording powers.
  enum Demand: Equatable, Sendable {
    /// Powers no device. The recording contains only devices that other clients keep awake.
    case nothing
    /// Powers the devices that measure these parts of the state. Other devices are recorded while they are awake.
    case parts(Set<StatePart>)
    /// Powers all devices, fused or not.
    case everything
  }

  let host: HubHost
  let sink: JournalSink
  let time: RecordingTime
  /// The holder in whose name the recording keeps devices awake.
  let holder: Holder
  let demand: Demand

  /// The subscriptions that put a hub's data into an inbox.
  struct Listening: Sendable {
    /// The subscriptions that depend on the board.
    fileprivate let lifetime: Lifetime
    fileprivate let devices: HubRecording
    /// The subscription to states that keeps devices awake; `nil` if the recording does not.
    fileprivate let states: Subscription?

    func end() {
      lifetime.end()
      devices.end()
      states?.cancel()
    }
  }

  /// Puts the data of the board in service into an inbox.
  ///
  /// - Parameter before: the feed of the previous board for the same inbox, which this call replaces. The output of
  ///   shared receivers continues without a gap, and no shared device is switched off in between
  func listen(for inbox: RecordInbox, continuing before: Listening? = nil) -> Listening {
    let hub = host.hub
    before?.lifetime.end()
    inbox.set(RecordedMetadata.records(hub.board, boardText: host.boardText, version: host.version, time: time))
    let lifetime = Lifetime()
    func hold(_ other: Lifetime) { Subscription { other.end() }.store(in: lifetime) }
    let log = RecordedLog(in: inbox, clock: time.clock)
    sink.observe { log.append($0) }.store(in: lifetime)
    hold(RecordedPower(in: inbox, clock: time.clock).follow(hub))
    let devices = hub.record(
      to: RecordedDevices(inbox: inbox, systemClock: RecordedSystemClock(in: inbox, time: time)), as: holder,
      wakes: demand == .everything, continuing: before?.devices)
    // The states come last, because a subscription may start the fusion, and the recording must not miss any of its
    // inputs.
    if demand == .nothing { observeStates(for: inbox).store(in: lifetime) }
    return Listening(lifetime: lifetime, devices: devices, states: before?.states ?? followStates(for: inbox))
  }

  /// Records the states while other clients keep devices awake.
  private func observeStates(for inbox: RecordInbox) -> Subscription {
    let receive = recording(in: inbox)
    return host.hub.observedStates
      .throttled(to: .nanoseconds(Int64(1e9 / host.hub.board.stateRateHz)), clock: time.clock)
      .subscribe(as: holder, receiveValue: receive)
  }

  /// Records the states and keeps the devices awake that they need; `nil` if the recording powers nothing.
  private func followStates(for inbox: RecordInbox) -> Subscription? {
    let parts: Set<StatePart>
    switch demand {
    case .nothing: return nil
    case .parts(let chosen): parts = chosen
    case .everything: parts = .all
    }
    return host.hub.state(rateHz: nil, parts: parts).subscribe(as: holder, receiveValue: recording(in: inbox))
  }

  private func recording(in inbox: RecordInbox) -> @Sendable (FusedState) -> Void {
    let states = RecordedStates(in: inbox, time: time)
    return { state in
      // After the last client has left, the state no longer describes the present.
      if state.mode != .asleep { states.append(state) }
    }
  }
}
