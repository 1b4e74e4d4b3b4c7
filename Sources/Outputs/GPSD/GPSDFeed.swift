import Devices
import Fusion
import Guarding
import Hub
import MonotonicTime
import NMEA
import Publishing

/// Sends a client of the gpsd protocol the objects and sentences that its watch requests.
///
/// `follow` compares the streams of the watch with the leases, and begins and ends only the difference. It runs on the
/// server's thread, and also on the thread that reports a new board. Only one thread at a time changes the leases. That
/// thread does not hold the lock while it does so, because the beginning or the end of a lease may switch a device.
final class GPSDFeed: Sendable {
  private struct Lease {
    let stream: GPSDStreams.Stream
    let subscription: Subscription
  }

  private struct State {
    var watch = GPSDWatch()
    /// The streams of the last followed watch.
    var streams = GPSDStreams()
    var leases: [Lease] = []
    /// Whether a thread is changing the leases now.
    var isFollowing = false
    /// Whether the leases may differ from those that the watch needs.
    var isFollowDue = false
    /// Each of these rejects values that the client already has.
    var positionTime = MonotonicUTCFilter()
    var epochTime = MonotonicUTCFilter()
    var attitudeTime = MonotonicUTCFilter()
    var lastReport: MonotonicInstant?
  }

  /// The interval between the objects that report a missing position (see `remind`), and the delay before the first
  /// one.
  private static let pause = Duration.seconds(1)

  private let connection: StreamConnection
  private let output: GPSDOutput
  private let holder: Holder
  private let state = Guarded(State())
  private let reminder = Alarm(clock: MonotonicClock())

  init(_ connection: StreamConnection, output: GPSDOutput) {
    self.connection = connection
    holder = connection.peer.holder("gpsd")
    self.output = output
  }

  // MARK: Watching

  var watch: GPSDWatch { state.withLock { $0.watch } }

  /// Changes the watch. The leases match it after the next call of `follow`.
  func change(to watch: GPSDWatch) { state.withLock { $0.watch = watch } }

  func end() {
    change(to: GPSDWatch())
    follow()
  }

  /// Makes the leases match the watch. If another call is doing this, perhaps further up on the same thread, that call
  /// also takes the present watch into account.
  func follow() {
    let isFirst = state.withLock { state in
      state.isFollowDue = true
      defer { state.isFollowing = true }
      return !state.isFollowing
    }
    guard isFirst else { return }
    while let watch = nextWatch() { follow(GPSDStreams(of: watch, on: output.board)) }
  }

  /// The watch for which the leases must be changed; `nil` if they already match it.
  private func nextWatch() -> GPSDWatch? {
    state.withLock { state in
      state.isFollowing = state.isFollowDue
      state.isFollowDue = false
      return state.isFollowing ? state.watch : nil
    }
  }

  /// Begins and ends leases, so that the client holds these streams. At most one call runs at a time.
  private func follow(_ streams: GPSDStreams) {
    let (old, held) = state.withLock { ($0.streams, $0.leases.map(\.stream)) }
    let (begun, ended) = streams.change(from: held)
    // The client joins the clients that receive the same objects, and leaves the previous ones.
    let (joined, left) = (moments(for: streams.positions), moments(for: old.positions))
    if joined !== left { joined?.enter(after: output.presentState) }
    state.withLock { $0.streams = streams }
    if joined !== left { left?.leave() }
    for stream in begun {
      let lease = Lease(stream: stream, subscription: subscribe(to: stream))
      state.withLock { $0.leases.append(lease) }
    }
    // The new leases have begun, so a device that the client still needs keeps its power.
    let over = state.withLock { state in
      defer { state.leases.removeAll { ended.contains($0.stream) } }
      return state.leases.filter { ended.contains($0.stream) }
    }
    for lease in over { lease.subscription.cancel() }
    if let positions = streams.positions {
      guard old.positions == nil else { return }
      greet(with: positions)
      setReminder()
    } else {
      reminder.cancel()
    }
  }

  private func subscribe(to stream: GPSDStreams.Stream) -> Subscription {
    let hub = output.hub
    switch stream {
    case .devices:
      let told = Guarded<GPSDActivations.Activity?>(nil)
      return output.activations.changes.subscribe(
        as: holder,
        receiveValue: { [weak self] activity in
          let previous = told.withLock { told in
            defer { told = activity }
            return told
          }
          // The first activity is not sent, because the client has just received it with its watch.
          if let previous { self?.send(activity, after: previous) }
        })
    case .states(let parts):
      return hub.state(parts: parts).subscribe(as: holder, receiveValue: { [weak self] in self?.send($0) })
    case .attitudes(let rateHz):
      return hub.attitudes(rateHz: rateHz).subscribe(
        as: holder, receiveValue: { [weak self] in self?.sendAttitude($0) })
    case .epochs(let receiver):
      return hub.epochs(of: receiver.id).subscribe(
        as: holder, receiveValue: { [weak self] in self?.send($0, of: receiver.path) })
    case .sentences(let id):
      let feed = Guarded(ReceiverFeed())
      return hub.sentences(of: id).subscribe(
        as: holder,
        receiveValue: { [weak self] output in
          guard let self else { return }
          let watch = self.watch
          let bytes = feed.withLock { $0.bytes(of: output, sentences: watch.wantsNMEA, raw: watch.raw) }
          if !bytes.isEmpty { bytes.withUnsafeBufferPointer(connection.send) }
        })
    case .clockOffsets:
      return hub.clockOffsets.subscribe(as: holder, receiveValue: { [weak self] in self?.send($0) })
    }
  }

  /// The objects that all clients with these positions receive; `nil` if the positions come from a single receiver and
  /// not from the fused state.
  private func moments(for positions: GPSDStreams.Positions?) -> GPSDMoments? {
    guard case .states(let includesAttitude) = positions else { return nil }
    return includesAttitude ? output.moments : output.momentsOfReceiver
  }

  // MARK: Reports

  /// Sends a new client the present position. If nothing is known yet, nothing is sent.
  private func greet(with positions: GPSDStreams.Positions) {
    // Objects that were sent before the watch are outdated.
    state.withLock { $0.lastReport = nil }
    guard let greeting = GPSDGreeting(with: positions, of: output) else { return }
    state.withLock { state in
      let isFirst = state.lastReport == nil
      state.lastReport = MonotonicClock().now
      guard isFirst else { return }
      let isNew =
        switch positions {
        case .states: state.positionTime.take(greeting.time, of: greeting.instant)
        case .receiver: state.epochTime.take(greeting.time, of: greeting.instant)
        }
      // The lock is held while sending, so that a concurrent report is sent before or after this one, and never twice.
      if isNew { connection.sendGPSD(capacity: 1024) { greeting.write(to: &$0) } }
    }
  }

  private func send(_ fused: FusedState) {
    guard let moments = moments(for: state.withLock { $0.streams.positions }) else { return }
    moments.withBytes(of: fused) { bytes, statesPosition in
      state.withLock { state in
        // A new client may already have this position.
        if statesPosition, !state.positionTime.take(fused.positionTime, of: fused.at) { return }
        state.lastReport = MonotonicClock().now
        connection.send(bytes)
      }
    }
  }

  private func send(_ epoch: GNSSObservation, of path: String) {
    connection.sendGPSD(capacity: 2048) { json in
      if state.withLock({ $0.epochTime.take(epoch.fix.time, of: epoch.at) }) {
        GPSDReport.writePositionObject(epoch.fix, device: path, to: &json)
        json.endLine()
        if let errors = epoch.errorStatistics {
          GPSDReport.writeErrorsObject(errors, device: path, to: &json)
          json.endLine()
        }
      }
      if !epoch.sky.isEmpty {
        GPSDReport.writeSkyObject(epoch, device: path, to: &json)
        json.endLine()
      }
      if json.count > 0 { state.withLock { $0.lastReport = MonotonicClock().now } }
    }
  }

  private func sendAttitude(_ fused: FusedState) {
    guard let attitude = fused.attitude, let path = output.hub.imuPath,
      state.withLock({ $0.attitudeTime.take(fused.utc(at: attitude.at)) })
    else { return }
    output.attitude.withBytes(
      at: fused.at, encode: { GPSDReport.writeAttitude(fused, device: path, to: &$0) }, connection.send)
  }

  private func send(_ offset: ClockOffset) {
    let device = output.device
    connection.sendGPSD(capacity: 256) { GPSDReport.write(offset, device: device, to: &$0) }
  }

  /// Sends the devices that have changed. A new board also changes the streams, and may end the watch.
  private func send(_ activity: GPSDActivations.Activity, after told: GPSDActivations.Activity) {
    let watch = watch
    if activity.boardNumber != told.boardNumber {
      if let device = watch.device, !GPSDDevice.all(of: output.hub).contains(where: { $0.path == device }) {
        // The watched device no longer exists, so the client keeps no device awake.
        change(to: GPSDWatch())
        connection.answerGPSD(error: "The board has no \(device.prefix(80)) any more: the watch has ended")
        return follow()
      }
      // The same path may now belong to another device, or to one of several devices.
      follow()
    }
    guard watch.wantsReports else { return }
    let devices = GPSDDevice.all(of: output.hub).filter { watch.device == nil || watch.device == $0.path }
    connection.sendGPSD(capacity: 512) { json in
      GPSDReport.writeChanges(of: devices, activity, after: told, cycleSeconds: output.cycleSeconds, to: &json)
    }
  }

  // MARK: Silence

  private func setReminder() {
    reminder.set(at: MonotonicClock().now + GPSDFeed.pause) { [weak self] in self?.remind() }
  }

  /// Sends a `TPV` without a position every second after nothing was sent for `output.silence`, because clients treat a
  /// silent connection as dead. A receiver without a position reports that itself; the message is for receivers that
  /// send nothing.
  private func remind() {
    let now = MonotonicClock().now
    let (isWanted, watched, last) = state.withLock { ($0.streams.positions != nil, $0.watch.device, $0.lastReport) }
    // The watch may have ended while the reminder was due.
    guard isWanted else { return }
    if last.map({ now - $0 >= output.silence }) ?? true {
      let device = watched ?? output.device
      connection.sendGPSD(capacity: 128) { json in
        GPSDReport.writePositionObject(FusedState(at: now), device: device, to: &json)
        json.endLine()
      }
    }
    setReminder()
  }
}
