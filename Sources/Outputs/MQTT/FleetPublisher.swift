import CLinux
import Fusion
import Guarding
import Hub
import MonotonicTime
import NMEA
import Publishing

/// The hub's connection to its broker, for other outputs that publish at the broker.
struct FleetLink: Sendable {
  var connection: MQTTConnection
  var topics: HubTopics
}

/// Publishes two things at the broker: the hub's status in retained messages, which wakes no device, and the states
/// that viewers have requested.
final class FleetPublisher: Sendable {
  /// The interval at which the last state is published while no viewer, but another client, keeps the devices awake.
  private static let interval = Duration.seconds(60)

  private struct Encoding: ~Copyable {
    var json = JSONWriter(capacity: 2048)
    /// The number of values that were published in each stream during this run.
    var counts: [ViewerRequest.Stream: Int] = [:]
    /// The time of the newest state in each stream.
    var newest: [ViewerRequest.Stream: MonotonicFilter] = [:]
  }

  private struct Last {
    var at: MonotonicInstant?
    var mode: FusedState.Mode?
    var hasPosition = false
  }

  private let host: HubHost
  private let connection: MQTTConnection
  private let topics: HubTopics
  /// The highest rate that a viewer wants; 0 without viewers.
  private let rateHz = Guarded(0.0)
  private let viewers = MutableProperty<[String]>([])
  private let encoding = Guarded(Encoding())
  private let last = Guarded(Last())
  private let present = Guarded<Lifetime?>(nil)
  private let clock: any MonotonicTimeSource
  /// The first part of a value's identifier, different for each run of the program. The stream and the value's number
  /// follow.
  let run = String(UInt32.random(in: .min ... .max), radix: 36)

  init(
    host: HubHost, connection: MQTTConnection, topics: HubTopics,
    clock: any MonotonicTimeSource = MonotonicClock()
  ) {
    self.host = host
    self.connection = connection
    self.topics = topics
    self.clock = clock
  }

  /// Publishes the status of this hub from now on, instead of that of the previous one.
  func follow(_ hub: Hub) {
    let lifetime = Lifetime()
    // Changes come in groups: a device changes its state again soon after it is powered.
    let devices = Coalesced(.milliseconds(300), clock: clock) { [weak self] in self?.tellDevices(of: hub) }
    Subscription { devices.end() }.store(in: lifetime)
    // A board without devices has no changes, but the broker may have devices that a reload removed.
    if hub.monitors.isEmpty { devices.request() }
    for monitor in hub.monitors {
      monitor.changes.subscribe(as: "mqtt", receiveValue: { _ in devices.request() }).store(in: lifetime)
    }
    // `identity` leaves out durations, which change as time passes.
    let told = Guarded<[String]>([])
    host.conditions.changes.subscribe(
      as: "mqtt",
      receiveValue: { [clock] entries in
        let now = clock.now
        let names = entries.map { "\($0.device) \(ConditionReport($0.condition, at: now).identity)" }
        let isNews = told.withLock { told in
          defer { told = names }
          return told != names
        }
        if isNews { devices.request() }
      }
    ).store(in: lifetime)
    hub.lastState.subscribe(as: "mqtt", receiveValue: { [weak self] in if let state = $0 { self?.tellLast(state) } })
      .store(in: lifetime)
    host.fences.changes.subscribe(as: "mqtt", receiveValue: { [weak self] in self?.tell($0) }).store(in: lifetime)
    host.requests.values.subscribe(
      as: "mqtt",
      receiveValue: { [weak self] value in
        self?.send(value.fix, for: ViewerRequest.Key(viewer: "board/\(value.name)", stream: .state))
      }
    ).store(in: lifetime)
    let health = Coalesced(.milliseconds(100), clock: clock) { [weak self] in self?.tellHealth() }
    Subscription { health.end() }.store(in: lifetime)
    viewers.subscribe(as: "mqtt", receiveValue: { _ in health.request() }).store(in: lifetime)
    replace(with: lifetime)
    host.fleetLink.withLock { $0 = FleetLink(connection: connection, topics: topics) }
    tellHealth()
  }

  func end() {
    host.fleetLink.withLock { if $0?.connection === connection { $0 = nil } }
    replace(with: nil)
  }

  private func replace(with new: Lifetime?) {
    present.withLock { present in
      defer { present = new }
      return present
    }?.end()
  }

  /// Sets the present viewers.
  ///
  /// - Parameters:
  ///   - viewers: the viewers, sorted
  ///   - rateHz: the highest rate that they request
  func watched(by viewers: [String], rateHz: Double) {
    self.rateHz.withLock { $0 = rateHz }
    self.viewers.value = viewers
  }

  /// Publishes a requested state. If the fastest viewer has changed, a late state for the previous one may be older
  /// than the stream's last state; such a state is not published.
  func send(_ state: FusedState, _ stream: ViewerRequest.Stream) {
    publish(stream, at: state.at) { StateReport.write(state.of(stream), to: &$0) }
  }

  /// Publishes a fix for the viewer that requested it, in addition to the states for other viewers. The message names
  /// the viewer.
  func send(_ fix: RequestedFix, for key: ViewerRequest.Key) {
    var fix = fix
    fix.state = fix.state.of(key.stream)
    publish(key.stream) { RequestedFixReport.write(fix, for: key.viewer, to: &$0) }
  }

  /// - Parameter instant: the time of a state; a state that is earlier than the last one is not published
  private func publish(
    _ stream: ViewerRequest.Stream, at instant: MonotonicInstant? = nil, _ write: (inout JSONWriter) -> Void
  ) {
    encoding.withLock { encoding in
      if let instant, !encoding.newest[stream, default: MonotonicFilter()].take(instant) { return }
      let count = encoding.counts[stream, default: 0] + 1
      encoding.counts[stream] = count
      encoding.json.removeAll()
      write(&encoding.json)
      // The message is queued under the lock to keep the order.
      connection.publish(
        topics.state(stream),
        FleetPublisher.object(encoding.json.bytes, beginningWith: "\"id\":\"\(run)-\(stream.name)-\(count)\""))
    }
  }

  /// The number of values that were published in a stream.
  func count(of stream: ViewerRequest.Stream) -> Int { encoding.withLock { $0.counts[stream, default: 0] } }

  private func tellLast(_ state: FusedState) {
    let rateHz = rateHz.withLock { $0 }
    let interval =
      rateHz > 0 ? Duration.nanoseconds(Int64(1e9 * max(1, 1 / rateHz))) : FleetPublisher.interval
    let isDue = last.withLock { last in
      let isDue = last.at.map { state.at - $0 >= interval } ?? true
      // The first position is published at once: if the last viewer leaves soon, no later message would carry the
      // position.
      let isFirst = state.position != nil && !last.hasPosition
      guard isDue || isFirst || state.mode == .asleep && last.mode != .asleep else { return false }
      last = Last(at: state.at, mode: state.mode, hasPosition: state.position != nil)
      return true
    }
    guard isDue else { return }
    let payload = encoding.withLock { encoding in
      encoding.json.removeAll()
      StateReport.write(state, to: &encoding.json)
      return FleetPublisher.object(encoding.json.bytes, beginningWith: FleetPublisher.said())
    }
    connection.retain(topics.last, payload)
  }

  private func tellDevices(of hub: Hub) {
    var json = JSONWriter()
    DevicesReport.write(hub.devices, and: host.conditions.ofBoard, at: host.now, to: &json)
    connection.retain(topics.devices, FleetPublisher.object(json.bytes, beginningWith: FleetPublisher.said()))
  }

  /// Publishes the fences, even if there are none, because an earlier run may have published some.
  private func tell(_ fences: [FenceStatus]) {
    var json = JSONWriter()
    FenceReport.write(fences, at: host.now, to: &json)
    connection.retain(topics.fences, FleetPublisher.object(json.bytes, beginningWith: FleetPublisher.said()))
  }

  /// Publishes the health. Several threads call this, and the lock ensures that the broker keeps the latest one.
  func tellHealth() { encoding.withLock { writeHealth(&$0.json) } }

  private func writeHealth(_ json: inout JSONWriter) {
    json.removeAll()
    json.beginObject()
    json.member("class", literal: "HEALTH")
    json.member("version", host.version)
    json.member("board", Text.printable(host.hub.board.name))
    if host.hub.origin != .real {
      json.key("origin")
      json.string(host.hub.origin.rawValue)
    }
    json.member("page", host.hub.board.http?.pageAddress)
    json.member("instance", run)
    json.key("viewers")
    json.beginArray()
    for viewer in viewers.value { json.string(viewer) }
    json.endArray()
    json.member("lostValues", connection.lostCount)
    json.member("refusedValues", connection.refusedCount)
    json.endObject()
    json.endLine()
    connection.retain(topics.health, FleetPublisher.object(json.bytes, beginningWith: FleetPublisher.said()))
  }

  /// The member with the time of publication by the system's clock. Without it, a reader could not tell the age of a
  /// retained message.
  private static func said() -> String {
    var json = JSONWriter(capacity: 64)
    json.member("said", time: JSONTime(UTCTime(nanosecondsSince1970: clinux_realtime_ns())))
    return String(decoding: json.bytes, as: UTF8.self)
  }

  /// Adds one member at the beginning of a JSON object, and removes the line break after the object.
  private static func object(_ json: UnsafeBufferPointer<UInt8>, beginningWith member: String) -> [UInt8] {
    var bytes = [UInt8(ascii: "{")]
    bytes.reserveCapacity(json.count + member.utf8.count + 1)
    bytes += member.utf8
    bytes.append(UInt8(ascii: ","))
    bytes += json.dropFirst()
    if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    return bytes
  }
}

extension FusedState {
  /// The parts of a state for a stream. The fix is always included, because it gives the time of the other parts.
  fileprivate func of(_ stream: ViewerRequest.Stream) -> FusedState {
    guard case .part(let part) = stream else { return self }
    var state = self
    if part != .position, part != .altitude { state.position = nil }
    if part != .motion { state.motion = nil }
    if part != .attitude, part != .heading { state.attitude = nil }
    if part != .rates { state.rates = nil }
    if part != .acceleration { state.acceleration = nil }
    if part != .magneticField { state.magneticField = nil }
    if part != .pressure { state.air = nil }
    if part != .supply { state.supply = nil }
    return state
  }
}
