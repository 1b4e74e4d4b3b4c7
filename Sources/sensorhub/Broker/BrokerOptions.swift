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
