import Guarding
import Hub
import MonotonicTime
import Publishing

/// Devices that clients keep awake for a requested time. Only the client that made a hold knows its identifier, which
/// is needed to extend or release it; only a user with the right to make lasting changes (`LocalRights`) can end the
/// holds of others, all at once.
final class DeviceHolds: Sendable {
  /// The maximum number of holds of all clients.
  static let limit = 256
  /// The longest hold, in seconds, for root, the hub's own user, the service's group, and clients with the port's
  /// token: a day. For all other users it is an hour. The limit also applies to each extension.
  static let longest = 86_400.0
  static let longestOfOthers = 3600.0

  /// A hold, as its client sees it.
  struct Hold: Equatable, Sendable {
    var id: String
    var device: String
    var holder: Holder
    var remaining: Duration
  }

  /// The reason why a client may not hold a device.
  struct Refusal: Error {
    var reason: String
  }

  private struct Entry {
    var device: String
    var user: SlotUser
    var holder: Holder
    var lease: Subscription
    var end: MonotonicInstant
  }

  private let host: HubHost
  private let clock: any MonotonicTimeSource
  private let entries = Guarded<[String: Entry]>([:])
  /// The alarm for the earliest end of a hold.
  private let alarm: Alarm
  private let lifetime = Lifetime()

  init(host: HubHost, clock: any MonotonicTimeSource = MonotonicClock()) {
    self.host = host
    self.clock = clock
    alarm = Alarm(clock: clock)
    host.slotOwners.add(self)
    clock.onResume { [weak self] in self?.resume(after: $0) }.store(in: lifetime)
  }

  /// All holds, sorted by their end.
  var all: [Hold] {
    let now = clock.now
    return entries.withLock { entries in
      entries.map { Hold(id: $0.key, device: $0.value.device, holder: $0.value.holder, remaining: $0.value.end - now) }
    }.sorted { ($0.remaining, $0.id) < ($1.remaining, $1.id) }
  }

  /// Keeps a device awake, if the user may have another hold.
  func hold(
    _ device: String, for duration: Duration, as holder: Holder, of user: SlotUser
  ) throws(Refusal) -> Hold {
    // A refused request must not wake a device, so check before the device wakes. Check again afterwards, because other
    // requests may have come in the meantime.
    if let reason = entries.withLock({ DeviceHolds.refusal(of: user, $0) }) { throw Refusal(reason: reason) }
    let id = DeviceHolds.newIdentifier()
    let lease = host.hub.powerLease(of: device).subscribe(as: holder, receiveValue: { _ in })
    let end = clock.now + duration
    let refusal = entries.withLock { entries -> String? in
      if let reason = DeviceHolds.refusal(of: user, entries) { return reason }
      entries[id] = Entry(device: device, user: user, holder: holder, lease: lease, end: end)
      return nil
    }
    if let refusal {
      lease.cancel()
      throw Refusal(reason: refusal)
    }
    setAlarm()
    return Hold(id: id, device: device, holder: holder, remaining: duration)
  }

  private static func refusal(of user: SlotUser, _ entries: [String: Entry]) -> String? {
    user.refusal(to: limit, among: entries.values.lazy.map(\.user))
  }

  /// Extends a hold from now; `nil` if the hold is over, or is for another device.
  func renew(_ id: String, of device: String, for duration: Duration) -> Hold? {
    let end = clock.now + duration
    let hold = entries.withLock { entries -> Hold? in
      guard let entry = entries[id], entry.device == device else { return nil }
      entries[id]?.end = end
      return Hold(id: id, device: device, holder: entry.holder, remaining: duration)
    }
    if hold != nil { setAlarm() }
    return hold
  }

  /// Moves the ends of holds earlier by the time that the machine was suspended. See `MonotonicInstant.moveBack`.
  private func resume(after slept: Duration) {
    entries.withLock { entries in
      for id in entries.keys { entries[id]?.end.moveBack(by: slept) }
    }
    setAlarm()
  }

  private func setAlarm() {
    alarm.set(asking: { entries.withLock { $0.values.map(\.end).min() } }) { [weak self] in self?.endDue() }
  }

  /// Ends a hold.
  ///
  /// - Returns: whether there was such a hold of the device
  func release(_ id: String, of device: String) -> Bool {
    let entry = entries.withLock { entries in
      entries[id]?.device == device ? entries.removeValue(forKey: id) : nil
    }
    guard let entry else { return false }
    setAlarm()
    entry.lease.cancel()
    return true
  }

  /// Ends every hold, because the hub or its web port ends, or because a user with the right to make lasting changes
  /// (`LocalRights`) requests it.
  @discardableResult
  func releaseAll() -> Int { all.count { release($0.id, of: $0.device) } }

  /// Ends the holds whose time is over. If the earliest one was extended while the alarm went off, none may be due.
  private func endDue() {
    let due = entries.withLock { entries in
      let due = entries.filter { $0.value.end <= clock.now }
      for id in due.keys { entries[id] = nil }
      return due.values.sorted { $0.end < $1.end }
    }
    setAlarm()
    for entry in due { entry.lease.cancel() }
  }

  /// A random identifier. It must be impossible to guess, because with it a client may end the hold.
  private static func newIdentifier() -> String {
    var random = SystemRandomNumberGenerator()
    return String(UInt64.random(in: .min ... .max, using: &random), radix: 36)
      + String(UInt64.random(in: .min ... .max, using: &random), radix: 36)
  }
}

extension DeviceHolds: SlotOwner {
  var slotKind: String { "holds" }
}

/// The answers to requests about holds, as JSON objects.
enum HoldsReport {
  /// Writes a hold for its own client.
  static func write(_ hold: DeviceHolds.Hold, to json: inout JSONWriter) {
    json.beginObject()
    json.member("class", literal: "HOLD")
    json.member("id", hold.id)
    json.member("device", hold.device)
    json.member("seconds", hold.remaining.inSeconds, decimals: 1)
    json.endObject()
    json.endLine()
  }

  /// Writes all holds for any client, without their identifiers, which only the clients of the holds may know.
  static func write(_ holds: [DeviceHolds.Hold], to json: inout JSONWriter) {
    json.beginObject()
    json.member("class", literal: "HOLDS")
    json.key("holds")
    json.beginArray()
    for hold in holds {
      json.beginObject()
      json.member("device", hold.device)
      json.member("holder", hold.holder.label)
      json.member("holderId", hold.holder.id.description)
      json.member("seconds", max(0, hold.remaining.inSeconds), decimals: 1)
      json.endObject()
    }
    json.endArray()
    json.endObject()
    json.endLine()
  }
}
