import ArgumentParser
import Hub
import Outputs

struct BrokerOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The first part of the topics of all hubs.", valueName: "topic"))
  var topic = "sensorhub"

  @Option(help: ArgumentHelp("The file with the password of the user in the broker's address.", valueName: "file"))
  var passwordFile: String?

  @Option(
    help: ArgumentHelp("Certificate authorities for the broker, instead of the system's.", valueName: "file"))
  var caFile: String?

  @Option(help: ArgumentHelp("The client certificate to present to the broker.", valueName: "file"))
  var certificateFile: String?

  @Option(help: ArgumentHelp("The private key of the client certificate.", valueName: "file"))
  var keyFile: String?

  func validate() throws {
    if !FleetSettings.isTopic(topic) { throw ValidationError("--topic must be names separated by slashes") }
    if (certificateFile == nil) != (keyFile == nil) {
      throw ValidationError("--certificate-file and --key-file must be given together")
    }
  }

  /// The options of a connection to a broker. Reads the password file.
  ///
  /// - Parameter identifier: the client's identifier, different for each run
  func options(_ place: BrokerURL, identifier: String, subscriptions: [String]) throws -> MQTTOptions {
    var settings = FleetSettings(broker: place.broker, topic: topic)
    // With a certificate, the broker already knows the user.
    settings.username = certificateFile != nil && passwordFile == nil ? nil : place.username
    settings.passwordFile = passwordFile
    settings.caFile = caFile
    settings.certificateFile = certificateFile
    settings.keyFile = keyFile
    do throws(FleetError) {
      var options = try MQTTOptions(settings, identifier: identifier, subscriptions: subscriptions)
      // The broker should notice soon that a viewer has left.
      options.keepAlive = .seconds(10)
      return options
    } catch {
      switch error {
      case .noPassword:
        throw CommandError(.noInput, "the user needs a password", nextStep: "name its file with --password-file")
      case .unreadable(_, let file, let reason): throw CommandError(.noInput, "\(file) cannot be read: \(reason)")
      case .noName: throw CommandError(.noInput, error.description)
      }
    }
  }
}

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
