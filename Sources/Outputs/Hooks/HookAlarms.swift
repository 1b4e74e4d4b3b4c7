import Hub
import MonotonicTime

/// Decides when to report that trouble has begun, and that it has ended: each once, even if the hub restarts in
/// between. An end is reported only after a beginning.
///
/// The failure of a device, jamming and spoofing may come and go quickly. They are therefore reported after they have
/// lasted for `patience`, and all other trouble at once. The end of a device's trouble is reported after the trouble
/// has been absent for `calm`. An unknown condition, such as that of a sleeping device, changes nothing.
struct HookAlarms: Sendable {
  struct Key: Hashable, Codable, Comparable, Sendable {
    var event: HookEvent
    var subject: String

    static func < (a: Key, b: Key) -> Bool { (a.event.rawValue, a.subject) < (b.event.rawValue, b.subject) }
  }

  struct Trouble: Equatable, Sendable {
    var text: String
    var nextStep: String?
  }

  struct Change: Equatable, Sendable {
    var key: Key
    /// The trouble that has begun; `nil` if the trouble is over.
    var trouble: Trouble?
  }

  /// The beginning or the end of a trouble of a fence.
  struct FenceChange: Equatable, Sendable {
    var event: HookEvent
    var isRaised: Bool
  }

  /// The known condition of all devices at one instant.
  struct Look: Sendable {
    var troubles: [Key: Trouble] = [:]
    /// The troubles that are known to be over.
    var over: Set<Key> = []
  }

  /// How long trouble must last before it is reported. Within this time, the next attempt to read the device may end
  /// it.
  static let patience = Duration.seconds(10)
  /// How long trouble must be absent before its end is reported.
  static let calm = Duration.seconds(30)

  /// The troubles whose beginning was reported, but not yet their end.
  private(set) var raised: Set<Key>
  /// For each condition that differs from the last report, the time since which it has differed.
  private var otherwiseSince: [Key: MonotonicInstant] = [:]

  init(raised: Set<Key> = []) { self.raised = raised }

  /// Compares the present condition with the reported one.
  ///
  /// - Returns: the changes to report, and when to look again even if nothing changes
  mutating func look(_ look: Look, at now: MonotonicInstant) -> (changes: [Change], next: MonotonicInstant?) {
    let new = look.troubles.keys.filter { !raised.contains($0) }
    // A trouble that was seen to be over still counts as over while the device sleeps.
    let gone = raised.filter { look.troubles[$0] == nil && (look.over.contains($0) || otherwiseSince[$0] != nil) }
    let otherwise = Set(new).union(gone)
    otherwiseSince = otherwiseSince.filter { otherwise.contains($0.key) }
    var changes: [Change] = []
    var next: MonotonicInstant?
    for key in otherwise.sorted() {
      let trouble = look.troubles[key]
      let since = otherwiseSince[key] ?? now
      let due = since + (trouble == nil ? HookAlarms.calm : key.event.patience)
      if now >= due {
        otherwiseSince[key] = nil
        if trouble == nil { raised.remove(key) } else { raised.insert(key) }
        changes.append(Change(key: key, trouble: trouble))
      } else {
        otherwiseSince[key] = since
        next = min(next ?? due, due)
      }
    }
    return (changes, next)
  }

  /// Processes the status of a fence after an event, without waiting for `patience`. If the board is outside when the
  /// watch begins, it counts as having left the fence, so that its return is reported.
  ///
  /// - Returns: the changes to report
  mutating func look(at fence: FenceStatus) -> [FenceChange] {
    guard let event = fence.event else { return [] }
    var changes = mark(.blind, of: fence.name, as: event == .lost)
    switch fence.state {
    case .outside: changes += mark(.fence, of: fence.name, as: true)
    case .inside: changes += mark(.fence, of: fence.name, as: false)
    case .unknown: break
    }
    return changes
  }

  /// Marks a fence's trouble as reported, or as over.
  ///
  /// - Returns: the change; empty if the trouble was already marked in this way
  private mutating func mark(_ event: HookEvent, of fence: String, as isRaised: Bool) -> [FenceChange] {
    let key = Key(event: event, subject: fence)
    let isNew = isRaised ? raised.insert(key).inserted : raised.remove(key) != nil
    return isNew ? [FenceChange(event: event, isRaised: isRaised)] : []
  }

  /// Marks a shutdown or a sleep of the board as reported, or as over.
  ///
  /// - Returns: whether to report this. A beginning is always reported, and an end only after a reported beginning
  mutating func mark(_ event: HookEvent, _ isRaised: Bool, of subject: String) -> Bool {
    let key = Key(event: event, subject: subject)
    if !isRaised { return raised.remove(key) != nil }
    raised.insert(key)
    return true
  }

  /// Forgets the troubles of devices and fences that no longer exist.
  mutating func keep(_ isThere: (Key) -> Bool) { raised = raised.filter(isThere) }
}

extension HookAlarms.Key {
  /// Whether this is the trouble of a fence, not of a device.
  var isOfFence: Bool { event == .fence || event == .blind }
}

extension HookAlarms.Look {
  init(_ monitors: [DeviceMonitor]) {
    for monitor in monitors { add(monitor.alarms, of: monitor.id) }
  }

  mutating func add(_ alarms: DeviceAlarms, of device: String) {
    func see(_ event: HookEvent, _ trouble: HookAlarms.Trouble?, isOver: Bool) {
      let key = HookAlarms.Key(event: event, subject: device)
      if let trouble { troubles[key] = trouble } else if isOver { over.insert(key) }
    }
    let failure = alarms.failure.map { HookAlarms.Trouble(text: $0.summary, nextStep: $0.nextStep) }
    see(.device, failure, isOver: alarms.isMeasuring)
    see(.line, alarms.lineProblem.map { HookAlarms.Trouble(text: $0) }, isOver: true)
    see(.supply, alarms.reported[.supply].map { HookAlarms.Trouble(text: $0) }, isOver: alarms.isSupplyKnown)
    see(.jamming, alarms.reported[.jamming].map { HookAlarms.Trouble(text: $0) }, isOver: alarms.isHeard)
    see(.spoofing, alarms.reported[.spoofing].map { HookAlarms.Trouble(text: $0) }, isOver: alarms.isHeard)
  }
}

extension HookEvent {
  /// How long this trouble must last before it is reported.
  fileprivate var patience: Duration {
    switch self {
    case .device, .jamming, .spoofing: HookAlarms.patience
    case .fence, .blind, .supply, .shutdown, .sleep, .line: .zero
    }
  }
}
