import Hub
import MonotonicTime

/// Decides when people are told that something is wrong, and when that it is over: each once, over runs of the hub too.
///
/// Trouble of devices comes and goes: a failure counts once it has lasted for a while, and the end of any once it has stayed away
/// for a while. What is not known, as of a device that rests, changes nothing.
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
    /// `nil` that it is over.
    var trouble: Trouble?
  }

  /// All devices at one instant.
  struct Look: Sendable {
    var troubles: [Key: Trouble] = [:]
    /// What is known not to be so.
    var over: Set<Key> = []
  }

  /// A new trouble may be gone with the next try.
  static let patience = Duration.seconds(10)
  static let calm = Duration.seconds(30)

  /// What people were told of, and not yet that it is over.
  private(set) var raised: Set<Key>
  /// Since when something is otherwise than people were told.
  private var otherwiseSince: [Key: MonotonicInstant] = [:]

  init(raised: Set<Key> = []) { self.raised = raised }

  /// - Returns: what people must be told, and when to look again though nothing changes
  mutating func look(_ look: Look, at now: MonotonicInstant) -> (changes: [Change], next: MonotonicInstant?) {
    let new = look.troubles.keys.filter { !raised.contains($0) }
    // Once it was seen to be over, a device that rests is no news.
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

  /// Tells at once.
  ///
  /// - Returns: whether that is news
  mutating func raise(_ key: Key) -> Bool { raised.insert(key).inserted }
  mutating func clear(_ key: Key) -> Bool { raised.remove(key) != nil }

  /// Forgets what is no more.
  mutating func keep(_ isThere: (Key) -> Bool) { raised = raised.filter(isThere) }
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
    see(.supply, alarms.reported[.supply].map { HookAlarms.Trouble(text: $0) }, isOver: alarms.isMeasuring)
    see(.jamming, alarms.reported[.jamming].map { HookAlarms.Trouble(text: $0) }, isOver: alarms.isHeard)
    see(.spoofing, alarms.reported[.spoofing].map { HookAlarms.Trouble(text: $0) }, isOver: alarms.isHeard)
  }
}

extension HookEvent {
  /// How long it must last before people are told.
  fileprivate var patience: Duration {
    switch self {
    case .device, .jamming, .spoofing: HookAlarms.patience
    case .fence, .blind, .supply, .line: .zero
    }
  }
}
