import Fusion
import Hub
import MonotonicTime
import Publishing
import Recording

/// What a recording has of a hub: where it comes from, the log, what each device's power does, the fused state, and what the
/// devices measure, as it comes.
struct RecordingFeed: Sendable {
  /// Which devices a recording is a reason to power.
  enum Demand: Equatable, Sendable {
    /// What others have woken is written down.
    case nothing
    /// Those that measure these parts of the state; what else is awake comes along.
    case parts(Set<StatePart>)
    /// All that there are, whether they are fused or not.
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

  /// Has all of it put into an inbox. It is one hub's: of two at once the inbox would get twice what both have.
  ///
  /// - Parameter before: to the hub before this one, for the same inbox, and ended by this; what receivers say that both have is not
  ///   interrupted
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
    // Last: it may be what has the state fused, and of that nothing is to be missed.
    followState(of: hub, for: inbox).store(in: lifetime)
    return Listening(lifetime: lifetime, devices: devices)
  }

  private func followState(of hub: Hub, for inbox: RecordInbox) -> Subscription {
    let states = RecordedStates(in: inbox, time: time)
    let receive = { @Sendable (state: FusedState) in
      // What is left once everybody has gone is no state of now.
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
