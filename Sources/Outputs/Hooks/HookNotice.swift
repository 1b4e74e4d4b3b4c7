import CLinux
import Hub
import NMEA

/// One thing that happened, as hooks are told of it. A notice is kept, over restarts too, until each of its hooks has it.
struct HookNotice: Codable, Equatable, Sendable {
  /// What has become of the event. Each is also the word for it.
  enum Change: String, Codable, Sendable {
    case left, returned
    case lost, found
    case low, recovered
    case began, ended
    case stuck, freed
    case failed, works
  }

  struct Place: Codable, Equatable, Sendable {
    var latitudeDegrees: Double
    var longitudeDegrees: Double
    var sigmaMetres: Double
  }

  /// No other notice of any run has it: a receiver that gets one twice can tell.
  var id: String
  var event: HookEvent
  var change: Change
  /// The fence or the device.
  var subject: String
  /// One sentence for a person.
  var message: String
  var nextStep: String?
  /// The board's name.
  var hub: String
  /// `SIMULATED` or `REPLAY`; `nil` of real devices.
  var mark: String?
  /// By the system's clock.
  var nanosecondsSince1970: Int64
  var place: Place?
  /// How far that lies beyond the edge of the fence; negative within it.
  var metresBeyond: Double?

  /// Whether it is bad news, and not the all-clear.
  var isRaised: Bool { change.isRaised }

  /// `boat: fence anchor left`
  var title: String {
    let what =
      switch event {
      case .fence: "fence \(subject) \(change.rawValue)"
      case .blind: "fence \(subject) \(isRaised ? "cannot be watched" : "is watched again")"
      case .supply: "\(subject): supply \(change.rawValue)"
      case .jamming: "\(subject): jamming \(change.rawValue)"
      case .spoofing: "\(subject): spoofing \(change.rawValue)"
      case .line: "\(subject): supply \(isRaised ? "could not be switched off" : "is off at last")"
      case .device: "\(subject) \(isRaised ? "failed" : "works again")"
      }
    return "\(mark.map { "\($0): " } ?? "")\(hub): \(what)"
  }

  /// From 3, usual, to 5, urgent: the numbers of ntfy, of which Gotify makes a sound from 4 on.
  var priority: Int {
    guard isRaised else { return 3 }
    return switch event {
    case .fence, .blind, .spoofing: 5
    case .supply, .jamming, .line, .device: 4
    }
  }

  /// The JSON that a program reads, a server is sent and a broker publishes. `title`, `message` and `priority` are the members
  /// that Gotify takes, with `tags` and `topic` those that ntfy takes; both ignore the others.
  ///
  /// - Parameter topic: what ntfy is told where it belongs
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
    json.member("id", id)
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
  /// What begins it, and what ends it.
  func change(isRaised: Bool) -> HookNotice.Change {
    switch self {
    case .fence: isRaised ? .left : .returned
    case .blind: isRaised ? .lost : .found
    case .supply: isRaised ? .low : .recovered
    case .jamming, .spoofing: isRaised ? .began : .ended
    case .line: isRaised ? .stuck : .freed
    case .device: isRaised ? .failed : .works
    }
  }
}
