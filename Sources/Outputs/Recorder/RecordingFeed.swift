import Fusion
import Hub
import MonotonicTime
import Publishing
import Recording

/// The data of a hub in a recording: its origin, the log, each device's power, the fused state, and the devices'
/// measurements.
struct RecordingFeed: Sendable {
  /// Which devices a recording is a reason to power.
  enum Demand: Equatable, Sendable {
    /// Devices that others have woken are recorded.
    case nothing
    /// The devices that measure these parts of the state; others that are awake are included.
    case parts(Set<StatePart>)
    /// All existing ones, fused or not.
    case everything
  }

  let host: HubHost
  let sink: JournalSink
  let time: RecordingTime
  /// As whom it holds devices.
  let holder: Holder
  let demand: Demand

  /// What of a hub is put into an inbox, until it ends.
  struct Listening: Sendable {
    fileprivate let lifetime: Lifetime
    fileprivate let devices: HubRecording

    func end() {
      lifetime.end()
      devices.end()
    }
  }

  /// Puts all of it into an inbox, for one hub: with two hubs at once the inbox would get the shared devices twice.
  ///
  /// - Parameter before: the previous hub's feed for the same inbox, which this ends; the output of shared receivers is
  ///   not interrupted
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
    // Last: it may start the fusion, of which the recording must not miss any input.
    followState(of: hub, for: inbox).store(in: lifetime)
    return Listening(lifetime: lifetime, devices: devices)
  }

  private func followState(of hub: Hub, for inbox: RecordInbox) -> Subscription {
    let states = RecordedStates(in: inbox, time: time)
    let receive = { @Sendable (state: FusedState) in
      // The state after the last client has left does not describe the present.
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
