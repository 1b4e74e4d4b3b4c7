import Devices
import Fusion
import Guarding
import Hub
import MonotonicTime
import NMEA
import Publishing

/// The gpsd protocol, version 3: what talks to gpsd talks to the hub.
///
/// `?WATCH` subscribes, and so powers the devices until it is switched off or its client leaves. A connection alone,
/// `?POLL`, `?DEVICES` and `?VERSION` observe.
final class GPSDOutput: StreamOutput {
  let host: HubHost
  // Each object is encoded once for all clients.
  let position = SharedEncoding(lineEnd: "\r\n")
  let attitude = SharedEncoding(lineEnd: "\r\n")
  let satellites = SharedEncoding(lineEnd: "\r\n")

  /// So long without a position is no pause between two.
  static let silence = Duration.seconds(5)

  init(host: HubHost) { self.host = host }

  func serve(_ connection: StreamConnection) -> (any StreamSession)? {
    let session = GPSDSession(connection, output: self)
    // Some clients wait for it before they say anything.
    session.answerVersion()
    return session
  }

  var device: String { host.hub.value.mainDevice }
}

/// One client of the gpsd protocol.
private final class GPSDSession: StreamSession {
  private struct State {
    var requests = GPSDRequests()
    var watch = GPSDWatch()
    /// Held while the watch is enabled, whatever it wants to be sent.
    var epochs: Subscription?
    var states: Subscription?
    var attitudes: Subscription?
    var sentences: Subscription?
    var offsets: Subscription?
    var reminder: ScheduledAction?
    var lastFix: MonotonicInstant?
    var lastPosition: MonotonicInstant?
  }

  private let connection: StreamConnection
  private let output: GPSDOutput
  private let state = Guarded(State())
  private var name: String { "gpsd \(connection.peer)" }

  init(_ connection: StreamConnection, output: GPSDOutput) {
    self.connection = connection
    self.output = output
  }

  // MARK: Requests

  func receive(_ bytes: UnsafeBufferPointer<UInt8>) {
    for request in state.withLock({ $0.requests.take(bytes) }) { serve(request) }
  }

  private func serve(_ request: GPSDRequests.Request) {
    switch request.name {
    case "VERSION": answerVersion()
    case "DEVICES": answer { GPSDReport.writeDevices(self.output.host, to: &$0) }
    case "DEVICE": answer { GPSDReport.writeDevice(self.output.host, to: &$0) }
    case "POLL": answer { GPSDReport.writePoll(self.output.host, to: &$0) }
    case "WATCH": serveWatch(request.object)
    case "": answerError("Not a request: send ?WATCH={\"enable\":true,\"json\":true}; or ?POLL;")
    default: answerError("Unrecognized request '\(request.name.prefix(20))'")
    }
  }

  private func serveWatch(_ object: [UInt8]?) {
    var watch = state.withLock { $0.watch }
    if let object {
      guard watch.change(by: object) else { return answerError("Invalid WATCH") }
      if let device = watch.device, device != output.device {
        return answerError("No such device: \(device.prefix(80))")
      }
      state.withLock { $0.watch = watch }
    }
    answer {
      GPSDReport.writeDevices(self.output.host, to: &$0)
      watch.write(to: &$0)
    }
    if object != nil { follow(watch) }
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

  /// Brings the leases in line with the watch; on the server's thread, like `end`.
  private func follow(_ watch: GPSDWatch) {
    // The states first: an epoch's position goes out before its long list of satellites is written.
    hold(\.states, watch.wantsReports) {
      output.host.states.subscribe(as: name, receiveValue: { [weak self] in self?.sendPosition($0) })
    }
    hold(\.attitudes, watch.wantsReports) {
      output.host.attitudes.subscribe(as: name, receiveValue: { [weak self] in self?.sendAttitude($0) })
    }
    hold(\.epochs, watch.isEnabled) {
      output.host.epochs.subscribe(as: name, receiveValue: { [weak self] in self?.send($0) })
    }
    hold(\.sentences, watch.wantsSentences) {
      output.host.sentences.subscribe(
        as: name, receiveValue: { [connection] in $0.withUnsafeBufferPointer(connection.send) })
    }
    hold(\.offsets, watch.wantsOffsets) {
      output.host.clockOffsets.subscribe(as: name, receiveValue: { [weak self] in self?.send($0) })
    }
    let (isReminded, reminder) = state.withLock { state in
      defer { if !watch.wantsReports { state.reminder = nil } }
      return (state.reminder != nil, state.reminder)
    }
    if watch.wantsReports, !isReminded { remind() }
    if !watch.wantsReports { reminder?.cancel() }
  }

  /// Subscribes or leaves, outside of the lock: either may power a device.
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
    follow(GPSDWatch())
  }

  // MARK: Reports

  /// With each fix a position; without fixes, once a second, what dead reckoning knows.
  private func sendPosition(_ fused: FusedState) {
    let isDue = state.withLock { state in
      let isFix = fused.fix != nil && fused.fix?.at != state.lastFix
      if isFix { state.lastFix = fused.fix?.at }
      let isSecondOver = state.lastPosition.map { fused.at.seconds(since: $0) >= 1 } ?? true
      let isDue = isFix || fused.mode == .deadReckoning && isSecondOver
      if isDue { state.lastPosition = fused.at }
      return isDue
    }
    guard isDue else { return }
    let device = output.device
    output.position.withBytes(
      at: fused.at, encode: { GPSDReport.writePosition(fused, device: device, to: &$0) }, connection.send)
  }

  private func sendAttitude(_ fused: FusedState) {
    guard fused.attitude != nil else { return }
    let device = output.device
    output.attitude.withBytes(
      at: fused.at, encode: { GPSDReport.writeAttitude(fused, device: device, to: &$0) }, connection.send)
  }

  private func send(_ offset: ClockOffset) {
    let device = output.device
    var json = JSONWriter(capacity: 256)
    json.lineEnd = "\r\n"
    GPSDReport.write(offset, device: device, to: &json)
    connection.send(json.bytes)
  }

  private func send(_ epoch: GNSSObservation) {
    guard state.withLock({ $0.watch.wantsReports }) else { return }
    let device = output.device
    output.satellites.withBytes(
      at: epoch.at, encode: { GPSDReport.writeReception(epoch, device: device, to: &$0) },
      { if !$0.isEmpty { connection.send($0) } })
  }

  /// A word a second while there is nothing to report: clients take a connection without data for a dead one. Receivers
  /// that find no position say so themselves; this is for those that say nothing.
  private func remind() {
    let now = MonotonicClock().now
    let isSilent = state.withLock { $0.lastPosition.map { now - $0 >= GPSDOutput.silence } ?? true }
    if isSilent {
      var json = JSONWriter(capacity: 128)
      json.lineEnd = "\r\n"
      GPSDReport.writePosition(FusedState(at: now), device: output.device, to: &json)
      connection.send(json.bytes)
    }
    let next = MonotonicClock().schedule(at: now + .seconds(1)) { [weak self] in self?.remind() }
    let (overtaken, isWanted) = state.withLock { state in
      guard state.watch.wantsReports else { return (nil as ScheduledAction?, false) }
      defer { state.reminder = next }
      return (state.reminder, true)
    }
    // A watch that was switched off and on meanwhile has a reminder of its own: one of them is enough.
    overtaken?.cancel()
    if !isWanted { next.cancel() }
  }
}
