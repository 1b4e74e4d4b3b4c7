import Fusion
import Guarding
import Hub
import MonotonicTime
import Publishing

/// Publishes the board's positions for programs at the broker that read OwnTracks' format: Home Assistant, OwnTracks
/// Recorder, Node-RED. It wakes devices only if its settings request fixes.
///
/// Each position has the time at which it was measured. Positions that could not be sent wait in the connection's
/// `Outbox`, and arrive later in order. After an interruption the board's track is therefore complete, unless the
/// outbox was full and dropped the oldest ones.
final class OwnTracksFeed: Sendable {
  /// The interval of positions for devices that other clients keep awake.
  private static let interval = Duration.seconds(10)
  /// The interval if the settings request only positions that are at least some distance from the last one.
  private static let shortInterval = Duration.seconds(1)

  /// If the clock is set back by at least this much, the feed accepts the earlier times. Otherwise a clock that was
  /// years ahead would silence the feed for years.
  private static let setBackSeconds: Int64 = 60

  private struct State: ~Copyable {
    var json = JSONWriter(capacity: 256)
    var lastSeconds: Int64?
    var lastSent: MonotonicInstant?
    /// The time of the position that was sent last. The position is not sent again after the devices have gone to
    /// sleep.
    var lastMeasured: MonotonicInstant?
  }

  private let host: HubHost
  private let settings: OwnTracksSettings
  private let topic: String
  private let trackerID: String
  private let send: @Sendable (_ topic: String, _ payload: [UInt8]) -> Void
  private let lifetime = Lifetime()
  private let state = Guarded(State())

  /// - Parameters:
  ///   - hub: the hub's name at the broker
  ///   - send: publishes, and keeps unsent messages
  init(
    _ settings: OwnTracksSettings, of hub: String, host: HubHost,
    send: @escaping @Sendable (_ topic: String, _ payload: [UInt8]) -> Void
  ) {
    self.settings = settings
    self.host = host
    self.send = send
    topic = settings.topic ?? OwnTracksFeed.topic(of: hub)
    trackerID = settings.trackerID ?? String(hub.suffix(2))
  }

  static func topic(of hub: String) -> String { "owntracks/sensorhub/\(hub)" }

  func begin() {
    let request = settings.request
    if request.asksForFixes {
      let holder = Holder("owntracks", purpose: .schedule)
      host.subscribe(
        to: request, as: holder, receiveState: { _ in }, receiveFix: { [weak self] in self?.send($0) }
      ).store(in: lifetime)
    } else {
      let states = host.hub.observedStates
      request.filtered(states, clock: host.hub.machine.clock).subscribe(
        as: "owntracks", receiveValue: { [weak self] in self?.relay($0) }
      ).store(in: lifetime)
    }
  }

  func end() { lifetime.end() }

  private func send(_ fix: RequestedFix) { publish(fix.state, isStill: fix.isStill, isScheduled: true) }

  /// Publishes the positions of devices that other clients keep awake.
  private func relay(_ fused: FusedState) {
    guard fused.mode != .asleep, let position = fused.position else { return }
    let interval =
      settings.request.distanceMetres == nil ? OwnTracksFeed.interval : OwnTracksFeed.shortInterval
    let isDue = state.withLock { state in
      guard position.at != state.lastMeasured, state.lastSent.map({ fused.at - $0 >= interval }) ?? true else {
        return false
      }
      state.lastMeasured = position.at
      state.lastSent = fused.at
      return true
    }
    if isDue { publish(fused, isStill: false, isScheduled: false) }
  }

  private func publish(_ fused: FusedState, isStill: Bool, isScheduled: Bool) {
    guard let seconds = OwnTracksReport.seconds(of: fused, isStill: isStill) else { return }
    state.withLock { state in
      // Send at most one position a second, with increasing times, because programs draw the track in the order of
      // time.
      if let last = state.lastSeconds, seconds <= last, last - seconds < OwnTracksFeed.setBackSeconds { return }
      state.lastSeconds = seconds
      state.json.removeAll()
      OwnTracksReport.write(fused, at: seconds, trackerID: trackerID, isScheduled: isScheduled, to: &state.json)
      // The message is queued under the lock to keep the order.
      send(topic, Array(state.json.bytes))
    }
  }
}
