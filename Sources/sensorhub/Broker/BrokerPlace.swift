import ArgumentParser
import Hub

/// A broker, or a hub at one, as the command line names it: `mqtts://user@broker.example:8883/boat-7`.
struct BrokerPlace: ExpressibleByArgument {
  var broker: BrokerAddress
  var username: String?
  /// `nil` where the broker alone is meant.
  var hub: String?

  init?(argument: String) {
    guard let scheme = argument.firstRange(of: "://") else { return nil }
    var place = argument[scheme.upperBound...]
    if let slash = place.firstIndex(of: "/") {
      let name = place[place.index(after: slash)...]
      place = place[..<slash]
      if !name.isEmpty {
        guard FleetSettings.isName(name) else { return nil }
        hub = String(name)
      }
    }
    if let at = place.lastIndex(of: "@") {
      username = String(place[..<at])
      place = place[place.index(after: at)...]
    }
    guard username?.isEmpty != true, let broker = BrokerAddress("\(argument[..<scheme.upperBound])\(place)") else {
      return nil
    }
    self.broker = broker
  }

  /// A program's name as a viewer there: under its user's name, if the broker lets no other user write there.
  func viewer(_ name: String) -> String { userName.map { "\($0)/\(name)" } ?? name }

  /// The user, where its name can be a part of a topic.
  var userName: String? { username.flatMap { FleetSettings.isName($0) ? $0 : nil } }
}
