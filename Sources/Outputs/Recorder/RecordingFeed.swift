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
    fileprivate let lifetime: Lifetime
    fileprivate let devices: HubRecording

    func end() {
      lifetime.end()
      devices.end()
    }
  }

  /// Puts a hub's data into an inbox. An inbox gets the data of one hub at a time: from two hubs it would get shared
  /// devices twice.
  ///
  /// - Parameter before: the feed of the previous hub for the same inbox, which this call ends; the output of shared
  ///   receivers continues without a gap
  func listen(to hub: Hub, for inbox: RecordInbox, continuing before: Listening? = nil) -> Listening {
    before?.lifetime.end()
    before?.devices.endButSentences()
    inbox.set(RecordedMetadata.records(hub.board, boardText: host.boardText, version: host.version, time: time))
    let lifetime = Lifetime()
    func hold(_ other: Lifetime) { Subscription { other.end() }.store(in: lifetime) }
    let log = RecordedLog(in: inbox, clock: time.clock)
    sink.observe { log.append($0) }.store(in: lifetime)
    hold(RecordedPower(in: inbox, clock: time.clock).follow(hub))
    let devices = hub.record(
      to: RecordedDevices(inbox: inbox, systemClock: RecordedSystemClock(in: inbox, time: time)), as: holder,
      wakes: demand == .everything, continuing: before?.devices)
    // This comes last, because it may start the fusion, and the recording must not miss any of its inputs.
    followState(of: hub, for: inbox).store(in: lifetime)
    return Listening(lifetime: lifetime, devices: devices)
  }

  private func followState(of hub: Hub, for inbox: RecordInbox) -> Subscription {
    let states = RecordedStates(in: inbox, time: time)
    let receive = { @Sendable (state: FusedState) in
      // After the last client has left, the state no longer describes the present.
      if state.mode != .asleep { states.append(state) }
    }
    let rateHz = hub.board.stateRateHz
    let parts: Set<StatePart>
    switch demand {
    case .nothing:
      return hub.lastState.throttled(to: .nanoseconds(Int64(1e9 / rateHz)), clock: time.clock)
        .subscribe(as: holder, receiveValue: { if let state = $0 { receive(state) } })
    case .parts(let chosen): parts = chosen
    case .everything: parts = .all
    }
    return hub.state(rateHz: rateHz, parts: parts).subscribe(as: holder, receiveValue: receive)
  }
}
