import CLinux
import Hub
import NMEA

/// An event for hooks. The hub keeps a notice, across restarts too, until each hook has received it, given it up, or
/// dropped it in favour of newer ones.
struct HookNotice: Codable, Equatable, Sendable {
  /// The kind of change. The raw value is its name in the notice's JSON.
  enum Change: String, Codable, Sendable {
    case left, returned
    case lost, found
    case low, recovered
    case began, ended
    case stuck, freed
    case failed, works
  }

  struct Position: Codable, Equatable, Sendable {
    var latitudeDegrees: Double
    var longitudeDegrees: Double
    var sigmaMetres: Double
  }

  /// An identifier that is unique across runs. A program or server that gets a notice twice can recognise it.
  var id: String
  var event: HookEvent
  var change: Change
  /// The name of the fence or the device.
  var subject: String
  /// The event in one sentence.
  var message: String
  var nextStep: String?
  /// The board's name.
  var hub: String
  /// `SIMULATED` or `REPLAY`; `nil` for real devices.
  var mark: String?
  /// The time of the event by the system's clock.
  var nanosecondsSince1970: Int64
  var place: Position?
  /// The distance beyond the fence's edge, in metres; negative inside the fence.
  var metresBeyond: Double?

  /// Whether trouble begins; `false` if it ends.
  var isRaised: Bool { change.isRaised }

  /// The title, for example `boat: fence anchor left`.
  var title: String {
    let what =
      switch event {
      case .fence: "fence \(subject) \(change.rawValue)"
      case .blind: "fence \(subject) \(isRaised ? "cannot be watched" : "is watched again")"
      case .supply: "\(subject): supply \(change.rawValue)"
      case .shutdown: isRaised ? "the board shuts down, \(subject) is empty" : "the board is on"
      case .sleep: isRaised ? "the board is about to sleep" : "the board is awake"
      case .jamming: "\(subject): jamming \(change.rawValue)"
      case .spoofing: "\(subject): spoofing \(change.rawValue)"
      case .line: "\(subject): supply \(isRaised ? "could not be switched off" : "is off at last")"
      case .device: "\(subject) \(isRaised ? "failed" : "works again")"
      }
    return "\(mark.map { "\($0): " } ?? "")\(hub): \(what)"
  }

  /// The priority on ntfy's scale, from 3 (default) to 5 (urgent). Gotify plays a sound from 4 on.
  var priority: Int {
    guard isRaised else { return 3 }
    return switch event {
    case .fence, .blind, .spoofing, .shutdown: 5
    case .supply, .jamming, .line, .device: 4
    case .sleep: 3
    }
  }

  /// The JSON for programs, servers and brokers. Gotify uses `title`, `message` and `priority`; ntfy also uses `tags`
  /// and `topic`. Both ignore the other members.
  ///
  /// No member has the name `id`. A Gotify server before version 3.0 expects a number as `id`, and refuses the whole
  /// message otherwise (gotify/server, `MessageExternal` in model/message.go).
  ///
  /// - Parameter topic: the topic for ntfy
  func json(topic: String? = nil) -> [UInt8] {
    var json = JSONWriter(capacity: 1024)
    json.beginObject()
    json.member("class", literal: "HOOK")
    json.member("topic", topic)
    json.member("title", Text.printable(title))
    json.member("message", Text.printable(nextStep.map { "\(message); \($0)" } ?? message))
    json.member("priority", priority)
    json.key("tags")
    json.beginArray()
    json.string(isRaised ? priority == 5 ? "rotating_light" : "warning" : "white_check_mark")
    json.endArray()
    json.member("eventId", id)
    json.member("event", event.rawValue)
    json.member("change", change.rawValue)
    json.member("active", isRaised)
    json.member("subject", subject)
    json.member("hub", Text.printable(hub))
    json.member("mark", mark)
    json.member("time", time: JSONTime(UTCTime(nanosecondsSince1970: nanosecondsSince1970)))
    if let place {
      json.key("position")
      json.beginObject()
      json.member("lat", place.latitudeDegrees, decimals: 7)
      json.member("lon", place.longitudeDegrees, decimals: 7)
      json.member("sigmaHorizontal", place.sigmaMetres, decimals: 2)
      json.endObject()
    }
    json.member("beyond", metresBeyond, decimals: 1)
    json.endObject()
    return Array(json.bytes)
  }
}

extension HookNotice.Change {
  var isRaised: Bool {
    switch self {
    case .left, .lost, .low, .began, .stuck, .failed: true
    case .returned, .found, .recovered, .ended, .freed, .works: false
    }
  }
}

extension HookEvent {
  /// The change that begins this trouble, or the one that ends it.
  func change(isRaised: Bool) -> HookNotice.Change {
    switch self {
    case .fence: isRaised ? .left : .returned
    case .blind: isRaised ? .lost : .found
    case .supply: isRaised ? .low : .recovered
    case .jamming, .spoofing, .shutdown, .sleep: isRaised ? .began : .ended
    case .line: isRaised ? .stuck : .freed
    case .device: isRaised ? .failed : .works
    }
  }
}
