import ArgumentParser
import Hub

/// A broker, or a hub at a broker, as typed on the command line: `mqtts://user@broker.example:8883/boat-7`.
struct BrokerURL: ExpressibleByArgument {
  var broker: BrokerAddress
  var username: String?
  /// The name of the hub; `nil` for the broker alone.
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

  /// The name of this program as a viewer. If there is a user name, the result begins with it and a slash, so that the
  /// broker's access list can reserve the result for this user.
  func viewer(_ name: String) -> String { userName.map { "\($0)/\(name)" } ?? name }

  /// The user's name, if it can be part of a topic.
  var userName: String? { username.flatMap { FleetSettings.isName($0) ? $0 : nil } }
}
