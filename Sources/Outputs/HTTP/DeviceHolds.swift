import Guarding
import Hub
import MonotonicTime
import Publishing

/// Devices that callers have requested to be kept awake for some time. Each hold belongs to its caller: its identifier
/// permits prolonging or releasing it, and requests of others never shorten it.
final class DeviceHolds: Sendable {
  /// How many there may be at once.
  static let limit = 256
  /// How long one may last in seconds: a day for root, the hub's own user, the service's group, and those who have the port's token;
  /// an hour for others. Prolonging one is no longer.
  static let longest = 86_400.0
  static let longestOfOthers = 3600.0

  /// A hold as its caller knows it.
  struct Hold: Equatable, Sendable {
    var id: String
    var device: String
    var holder: String
    var remaining: Duration
  }

  /// The reason why there is none for a caller.
  struct Refusal: Error {
    var reason: String
  }

  private struct Entry {
    var device: String
    var user: PlaceUser
    var holder: String
    var lease: Subscription
    var timer: ScheduledAction
    var end: MonotonicInstant
  }

  private let host: HubHost
  private let clock: any MonotonicTimeSource
  private let entries = Guarded<[String: Entry]>([:])
  private let lifetime = Lifetime()

  init(host: HubHost, clock: any MonotonicTimeSource = MonotonicClock()) {
    self.host = host
    self.clock = clock
    host.placeHolders.add(self)
    clock.onResume { [weak self] in self?.resume(after: $0) }.store(in: lifetime)
  }

  /// Every hold, the next to end first.
  var all: [Hold] {
    let now = clock.now
    return entries.withLock { entries in
      entries.map { Hold(id: $0.key, device: $0.value.device, holder: $0.value.holder, remaining: $0.value.end - now) }
    }.sorted { ($0.remaining, $0.id) < ($1.remaining, $1.id) }
  }

  /// Keeps a device awake, where its user may have one more.
  func hold(
    _ device: String, for duration: Duration, as holder: String, of user: PlaceUser
  ) throws(Refusal) -> Hold {
    // Checked before as well as after: a refused request must not have woken the device.
    if let reason = entries.withLock({ DeviceHolds.refusal(of: user, $0) }) { throw Refusal(reason: reason) }
    let id = DeviceHolds.newIdentifier()
    let lease = host.wakefulness(of: device).subscribe(as: Holder(holder), receiveValue: { _ in })
    let end = clock.now + duration
    let timer = clock.schedule(at: end) { [weak self] in self?.isOver(id) }
    let refusal = entries.withLock { entries -> String? in
      if let reason = DeviceHolds.refusal(of: user, entries) { return reason }
      entries[id] = Entry(device: device, user: user, holder: holder, lease: lease, timer: timer, end: end)
      return nil
    }
    if let refusal {
      timer.cancel()
      lease.cancel()
      throw Refusal(reason: refusal)
    }
    endIfOver(id, end)
    return Hold(id: id, device: device, holder: holder, remaining: duration)
  }

  private static func refusal(of user: PlaceUser, _ entries: [String: Entry]) -> String? {
    user.refusal(to: limit, among: entries.values.lazy.map(\.user))
  }

  /// Makes a hold last for a time from now; `nil` if it is over, or another device's.
  func renew(_ id: String, of device: String, for duration: Duration) -> Hold? {
    let end = clock.now + duration
    let timer = clock.schedule(at: end) { [weak self] in self?.isOver(id) }
    let (hold, old) = entries.withLock { entries -> (Hold?, ScheduledAction) in
      guard var entry = entries[id], entry.device == device else { return (nil, timer) }
      defer { entries[id] = entry }
      let old = entry.timer
      entry.timer = timer
      entry.end = end
      return (Hold(id: id, device: device, holder: entry.holder, remaining: duration), old)
    }
    old.cancel()
    endIfOver(id, end)
    return hold
  }

  /// The machine was suspended, which counts for the time of a hold.
  private func resume(after slept: Duration) {
    let ends = entries.withLock { entries in
      for id in entries.keys { entries[id]?.end.moveBack(by: slept) }
      return entries.mapValues(\.end)
    }
    for (id, end) in ends {
      let timer = clock.schedule(at: end) { [weak self] in self?.isOver(id) }
      let old = entries.withLock { entries -> ScheduledAction in
        guard let old = entries[id]?.timer, entries[id]?.end == end else { return timer }
        entries[id]?.timer = timer
        return old
      }
      old.cancel()
    }
  }

  /// If the time was over before the hold was entered, for example because the machine was stopped, its timer has found
  /// nothing to end.
  private func endIfOver(_ id: String, _ end: MonotonicInstant) { if end <= clock.now { isOver(id) } }

  /// Ends a hold; returns whether there was one of that device.
  func release(_ id: String, of device: String) -> Bool {
    let entry = entries.withLock { entries in
      entries[id]?.device == device ? entries.removeValue(forKey: id) : nil
    }
    entry?.timer.cancel()
    entry?.lease.cancel()
    return entry != nil
  }

  /// Ends every hold: the hub ends, or root requests it.
  @discardableResult
  func releaseAll() -> Int { all.count { release($0.id, of: $0.device) } }

  /// The time of a hold is over, unless it has been prolonged while the timer fired.
  private func isOver(_ id: String) {
    let entry = entries.withLock { entries in
      entries[id].map { $0.end <= clock.now } == true ? entries.removeValue(forKey: id) : nil
    }
    entry?.lease.cancel()
  }

  /// It cannot be guessed: its knowledge is the right to end the hold.
  private static func newIdentifier() -> String {
    var random = SystemRandomNumberGenerator()
    return String(UInt64.random(in: .min ... .max, using: &random), radix: 36)
      + String(UInt64.random(in: .min ... .max, using: &random), radix: 36)
  }
}

extension DeviceHolds: PlaceHolding {
  var placeKind: String { "holds" }
}
