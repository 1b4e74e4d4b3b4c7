import Devices
import Fusion
import Guarding
import Hub
import MonotonicTime
import NMEA
import Publishing

/// A client of the gpsd protocol.
final class GPSDSession: StreamSession {
  /// The rate at which the session subscribes to the attitude.
  private struct AttitudeRate: Equatable {
    /// The requested rate; `nil` for the board's own rate.
    var rateHz: Double?
    var isForIMUAlone: Bool
  }

  private struct State {
    var requests = GPSDRequests()
    var watch = GPSDWatch()
    /// Whether a thread makes the leases match the watch.
    var isFollowing = false
    /// Whether the leases may not match the watch.
    var isFollowDue = false
    /// The subscription to changes of the devices, which wakes none of them.
    var devices: Subscription?
    var states: Subscription?
    var attitudes: Subscription?
    var attitudeRate: AttitudeRate?
    /// The subscription to the one receiver that the client watches; `nil` otherwise.
    var epochs: Subscription?
    var epochsOf: GPSDDevice?
    var epochTime = MonotonicUTCFilter()
    var sentences: Subscription?
    var feed = ReceiverFeed()
    /// The ID of the receiver whose sentences the client receives; empty for the selected receiver, `nil` for no
    /// sentences.
    var sentencesOf: String?
    var offsets: Subscription?
    var reminder: ScheduledAction?
    /// The objects of the fused state that the client receives; `nil` if it receives none.
    var moments: GPSDMoments?
    /// Rejects positions that the client already has.
    var positionTime = MonotonicUTCFilter()
    var attitudeTime = MonotonicUTCFilter()
    var lastReport: MonotonicInstant?
    /// The devices as last sent to the client.
    var activity: GPSDActivations.Activity?
  }

  private let connection: StreamConnection
  private let output: GPSDOutput
  private let state = Guarded(State())
  private let holder: Holder

  init(_ connection: StreamConnection, output: GPSDOutput) {
    self.connection = connection
    holder = connection.peer.holder("gpsd")
    self.output = output
  }

  // MARK: Requests

  func receive(_ bytes: UnsafeBufferPointer<UInt8>) {
    for request in state.withLock({ $0.requests.take(bytes) }) { serve(request) }
  }

  private func serve(_ request: GPSDRequests.Request) {
    switch request.name {
    case "VERSION": answerVersion()
    case "DEVICES": answer { writeDevices(to: &$0) }
    case "DEVICE": serveDevice(request.object)
    case "POLL": answer { GPSDReport.writePoll(self.output.host, at: self.output.host.now, to: &$0) }
    case "WATCH": serveWatch(request.object)
    case "": answerError("Not a request: send ?WATCH={\"enable\":true,\"json\":true}; or ?POLL;")
    default: answerError("Unrecognized request '\(request.name.prefix(20))'")
    }
  }

  private func serveWatch(_ object: [UInt8]?) {
    var watch = state.withLock { $0.watch }
    if let object {
      do throws(GPSDMembers.Refusal) {
        try watch.change(by: object)
      } catch {
        return answerError("Invalid WATCH: \(error.rawValue)")
      }
      if let device = watch.device, !GPSDDevice.all(of: output.hub).contains(where: { $0.path == device }) {
        return answerError("No such device: \(device.prefix(80))")
      }
      state.withLock { $0.watch = watch }
    }
    answer {
      writeDevices(to: &$0)
      watch.write(to: &$0)
    }
    if object != nil { follow() }
  }

  /// Answers a `?DEVICE`. Clients cannot change devices, because the board file decides about them.
  private func serveDevice(_ object: [UInt8]?) {
    var devices = GPSDDevice.all(of: output.hub)
    if devices.isEmpty { return answerError("Can't perform DEVICE configuration, no devices attached.") }
    var refused: [String] = []
    if let object {
      do throws(GPSDMembers.Refusal) {
        let members = try GPSDMembers(object)
        if let path = try members.string("path").map({ GPSDLimits.path($0) }) {
          devices.removeAll { $0.path != path }
          if devices.isEmpty { return answerError("Can't open \(path.prefix(80)): the board has no such device") }
        } else if devices.count > 1 {
          return answerError("No path specified in DEVICE, but multiple devices are attached.")
        }
        refused = try GPSDReport.refusedSettings(members, devices[0])
      } catch {
        return answerError("Invalid DEVICE: \(error.rawValue)")
      }
    }
    if !refused.isEmpty {
      answerError("Can't set \(refused.joined(separator: ", ")) of \(devices[0].path): the board file does")
    }
    let activity = activity
    answer { json in
      for device in devices {
        GPSDReport.writeDeviceObject(device, activity, to: &json)
        json.endLine()
      }
    }
  }

  private var activity: GPSDActivity {
    GPSDActivity(since: output.activations.changes.value.since, cycleSeconds: output.cycleSeconds)
  }

  private func writeDevices(to json: inout JSONWriter) {
    GPSDReport.writeDevices(output.hub, activity, to: &json)
  }

  func answerVersion() {
    answer { json in
      json.beginObject()
      json.member("class", literal: "VERSION")
      json.member("release", "SensorHub")
      json.member("rev", "SensorHub")
      json.member("proto_major", 3)
      json.member("proto_minor", 14)
      json.endObject()
      json.endLine()
    }
  }

  private func answerError(_ message: String) {
    answer { json in
      json.beginObject()
      json.member("class", literal: "ERROR")
      json.member("message", message)
      json.endObject()
      json.endLine()
    }
  }

  private func answer(_ write: (inout JSONWriter) -> Void) {
    var json = JSONWriter()
    json.lineEnd = "\r\n"
    write(&json)
    connection.answer(json.bytes)
  }

  // MARK: Watching

  /// Makes the leases match the watch. Runs on the server's thread, and also on the thread that reports a new board. If
  /// another call is doing this, perhaps further up on the same thread, that call also takes the present watch into
  /// account.
  private func follow() {
    let isFirst = state.withLock { state in
      state.isFollowDue = true
      defer { state.isFollowing = true }
      return !state.isFollowing
    }
    guard isFirst else { return }
    while let watch = nextWatch() { follow(watch) }
  }

  /// The watch that the leases may not match; `nil` if they match.
  private func nextWatch() -> GPSDWatch? {
    state.withLock { state in
      state.isFollowing = state.isFollowDue
      state.isFollowDue = false
      return state.isFollowing ? state.watch : nil
    }
  }

  /// Takes and ends leases for a watch. At most one call runs at a time.
  private func follow(_ watch: GPSDWatch) {
    let subject = subject(of: watch)
    // This subscription comes before any device wakes, so that the client receives a report of each wake.
    hold(\.devices, watch.wantsReports) {
      output.activations.changes.subscribe(as: holder, receiveValue: { [weak self] in self?.receive($0) })
    }
    followMoments(watch)
    hold(\.states, subject.wantsPositions || watch.isForPolling) {
      output.host.hub.state(parts: output.board.gpsdParts).subscribe(
        as: holder, receiveValue: { [weak self] in self?.send($0) })
    }
    followAttitudes(watch)
    followReceiver(watch)
    followSentences(watch)
    hold(\.offsets, watch.wantsOffsets) {
      output.host.hub.clockOffsets.subscribe(as: holder, receiveValue: { [weak self] in self?.send($0) })
    }
    let isSilenceTold = subject.isPositionTold
    let (isReminded, reminder) = state.withLock { state in
      defer { if !isSilenceTold { state.reminder = nil } }
      if !watch.wantsReports { state.activity = nil }
      return (state.reminder != nil, state.reminder)
    }
    if isSilenceTold, !isReminded {
      greet(watch)
      remind(after: .seconds(1))
    }
    if !isSilenceTold { reminder?.cancel() }
  }

  /// Joins the clients that receive the same objects, and leaves the previous group.
  private func followMoments(_ watch: GPSDWatch) {
    var new: GPSDMoments?
    if subject(of: watch).wantsPositions {
      let includesAttitude =
        watch.device == nil && watch.attitudeRateHz == nil && !output.hub.receivers.candidates.isEmpty
      new = includesAttitude ? output.moments : output.momentsOfReceiver
    }
    let present = state.withLock { $0.moments }
    if new === present { return }
    new?.enter(after: presentState)
    state.withLock { $0.moments = new }
    present?.leave()
  }

  /// The present state; `nil` if its position is too old.
  private var presentState: FusedState? {
    output.hub.presentState(at: output.host.now, within: output.silence)
  }

  /// Sends a new client the present state at once. The next epoch may be seconds away, and the client must not take
  /// the pause for a loss of the fix. If nothing is known yet, nothing is sent.
  private func greet(_ watch: GPSDWatch) {
    // Objects that were sent before the watch are outdated.
    state.withLock { $0.lastReport = nil }
    var json = JSONWriter(capacity: 1024)
    json.lineEnd = "\r\n"
    if let receiver = subject(of: watch).oneReceiver {
      guard let epoch = latest(of: receiver.id) else { return }
      GPSDReport.writePositionObject(epoch.fix, device: receiver.path, to: &json)
      json.endLine()
      return greet(json.bytes, \.epochTime, epoch.fix.time, of: epoch.at)
    }
    let device = output.device
    let epoch = output.hub.receivers.taken.flatMap { latest(of: $0.description.id) }
    if let fused = presentState, fused.position != nil || fused.fix != nil {
      GPSDReport.writePositionObject(fused, reception: epoch, device: device, to: &json)
      json.endLine()
      greet(json.bytes, \.positionTime, fused.positionTime, of: fused.at)
    } else if let epoch {
      // Until now the receiver was awake only for its sentences, so there is no fused state.
      GPSDReport.writePositionObject(epoch.fix, device: device, to: &json)
      json.endLine()
      greet(json.bytes, \.positionTime, epoch.fix.time, of: epoch.at)
    }
  }

  private func greet(
    _ bytes: UnsafeBufferPointer<UInt8>, _ times: WritableKeyPath<State, MonotonicUTCFilter>, _ time: UTCTime?,
    of instant: MonotonicInstant
  ) {
    state.withLock { state in
      // The report is sent under the lock, so that a concurrent event is sent before or after it, and never twice.
      let isNew = state.lastReport == nil && state[keyPath: times].take(time, of: instant)
      state.lastReport = MonotonicClock().now
      if isNew { connection.send(bytes) }
    }
  }

  /// The last epoch of a receiver that is awake, if it is recent.
  private func latest(of id: String) -> GNSSObservation? {
    let receiver = output.hub.receivers.candidates.first { $0.description.id == id }
    return receiver?.reader.device.source.latest.flatMap { output.host.now - $0.at < output.silence ? $0 : nil }
  }

  /// If the client watches one of several receivers, sends it the values of that receiver, even if the fused state
  /// uses another one.
  private func followReceiver(_ watch: GPSDWatch) {
    let receiver = subject(of: watch).oneReceiver
    let present = state.withLock { $0.epochsOf }
    if receiver?.id == present?.id, receiver?.path == present?.path { return }
    let new = receiver.map { receiver in
      output.host.hub.epochs(of: receiver.id).subscribe(
        as: holder, receiveValue: { [weak self] in self?.send($0, of: receiver.path) })
    }
    let old = state.withLock { state in
      defer { (state.epochs, state.epochsOf) = (new, receiver) }
      return state.epochs
    }
    old?.cancel()
  }

  /// Sends a client that wants sentences those of the receiver that it watches, or else those of the selected receiver.
  private func followSentences(_ watch: GPSDWatch) {
    // An IMU has no sentences, so a watch of the IMU must not wake the receiver.
    let subject = subject(of: watch)
    let source = watch.wantsSentences && !subject.isOfIMU ? subject.namedReceiver?.id ?? "" : nil
    if source == state.withLock({ $0.sentencesOf }) { return }
    let new = source.map { id in
      output.host.hub.sentences(of: id.isEmpty ? nil : id).subscribe(
        as: holder, receiveValue: { [weak self] in self?.send($0) })
    }
    let old = state.withLock { state in
      defer { (state.sentences, state.sentencesOf, state.feed) = (new, source, ReceiverFeed()) }
      return state.sentences
    }
    old?.cancel()
  }

  /// Subscribes to attitudes at a rate of their own in three cases: the client requests a rate, watches only the IMU,
  /// or the board has no receiver. Otherwise the attitudes come with the receiver's epochs.
  private func followAttitudes(_ watch: GPSDWatch) {
    let isOfIMU = subject(of: watch).isOfIMU
    let isWanted = watch.wantsReports && (watch.device == nil || isOfIMU)
    let rate = isWanted ? AttitudeRate(rateHz: watch.attitudeRateHz, isForIMUAlone: isOfIMU) : nil
    let present = state.withLock { $0.attitudeRate }
    if rate == present { return }
    let new = rate.map { rate in
      output.host.hub.attitudes(rateHz: rate.rateHz, besideReceiver: rate.rateHz != nil || rate.isForIMUAlone).subscribe(
        as: holder, receiveValue: { [weak self] in self?.sendAttitude($0) })
    }
    // Begin the new subscription before ending the old one, so that a new rate causes no power cycle.
    let old = state.withLock { state in
      defer { (state.attitudes, state.attitudeRate) = (new, rate) }
      return state.attitudes
    }
    old?.cancel()
  }

  private func subject(of watch: GPSDWatch) -> GPSDSubject { GPSDSubject(of: watch, on: output.hub, output.board) }

  /// Subscribes or unsubscribes outside the lock, because both may power a device.
  private func hold(
    _ lease: WritableKeyPath<State, Subscription?>, _ isWanted: Bool, _ subscribe: () -> Subscription
  ) {
    let present = state.withLock { $0[keyPath: lease] }
    if isWanted == (present != nil) { return }
    let new = isWanted ? subscribe() : nil
    state.withLock { $0[keyPath: lease] = new }
    present?.cancel()
  }

  func end() {
    state.withLock { $0.watch = GPSDWatch() }
    follow()
  }

  // MARK: Reports

  private func send(_ fused: FusedState) {
    guard let moments = state.withLock({ $0.moments }) else { return }
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
    var json = JSONWriter(capacity: 2048)
    json.lineEnd = "\r\n"
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
    guard json.count > 0 else { return }
    state.withLock { $0.lastReport = MonotonicClock().now }
    connection.send(json.bytes)
  }

  /// Sends a receiver's own output, in the form that the client wants.
  private func send(_ output: ReceiverOutput) {
    let bytes = state.withLock { state in
      state.feed.bytes(of: output, sentences: state.watch.wantsNMEA, raw: state.watch.raw)
    }
    if !bytes.isEmpty { bytes.withUnsafeBufferPointer(connection.send) }
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
    var json = JSONWriter(capacity: 256)
    json.lineEnd = "\r\n"
    GPSDReport.write(offset, device: device, to: &json)
    connection.send(json.bytes)
  }

  /// Sends a `DEVICE` for each device that has woken, fallen asleep or reported its identity, and for all devices of
  /// a new board.
  private func receive(_ activity: GPSDActivations.Activity) {
    let (told, watch) = state.withLock { state in
      defer { state.activity = activity }
      return (state.activity, state.watch)
    }
    // The client has just received the first activity with its watch.
    guard let told else { return }
    if activity.hub != told.hub, let device = watch.device,
      !GPSDDevice.all(of: output.hub).contains(where: { $0.path == device })
    {
      // The watched device no longer exists, so the client keeps no device awake.
      state.withLock { $0.watch = GPSDWatch() }
      answerError("The board has no \(device.prefix(80)) any more: the watch has ended")
      return follow()
    }
    // The same path may now belong to another device, or to one of several devices.
    if activity.hub != told.hub { follow() }
    guard watch.wantsReports else { return }
    var json = JSONWriter(capacity: 512)
    json.lineEnd = "\r\n"
    for device in GPSDDevice.all(of: output.hub) {
      guard watch.device == nil || watch.device == device.path else { continue }
      let hasChanged =
        (activity.since[device.id] == nil) != (told.since[device.id] == nil)
        || activity.identities[device.id] != told.identities[device.id]
      if activity.hub == told.hub, !hasChanged { continue }
      let known = GPSDActivity(since: activity.since, cycleSeconds: output.cycleSeconds)
      GPSDReport.writeDeviceObject(device, known, to: &json)
      json.endLine()
    }
    if json.count > 0 { connection.send(json.bytes) }
  }

  /// Sends a `TPV` without a position every second after nothing was sent for `output.silence`, because clients treat a
  /// silent connection as dead. A receiver without a position reports that itself; the message is for receivers that
  /// send nothing.
  private func remind() {
    let now = MonotonicClock().now
    let isSilent = state.withLock { $0.lastReport.map { now - $0 >= output.silence } ?? true }
    if isSilent {
      let device = state.withLock { $0.watch.device } ?? output.device
      var json = JSONWriter(capacity: 128)
      json.lineEnd = "\r\n"
      GPSDReport.writePositionObject(FusedState(at: now), device: device, to: &json)
      json.endLine()
      connection.send(json.bytes)
    }
    remind(after: .seconds(1))
  }

  private func remind(after pause: Duration) {
    let clock = MonotonicClock()
    let next = clock.schedule(at: clock.now + pause) { [weak self] in self?.remind() }
    let (overtaken, isWanted) = state.withLock { state in
      guard subject(of: state.watch).isPositionTold else { return (nil as ScheduledAction?, false) }
      defer { state.reminder = next }
      return (state.reminder, true)
    }
    // If the watch was switched off and on in the meantime, it has another reminder, and one is enough.
    overtaken?.cancel()
    if !isWanted { next.cancel() }
  }
}
