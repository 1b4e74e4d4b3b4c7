import ArgumentParser

@main
struct SensorHub: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sensorhub",
    abstract: "GPS and IMU of a Linux board as one stream, powered only while somebody listens.",
    version: "0.1.0",
    subcommands: [Decode.self])

  static func main() async {
    do {
      var command = try parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch let error as CommandError {
      Terminal.standardError("sensorhub: \(error)")
      exit(withError: ExitCode(error.code.rawValue))
    } catch {
      exit(withError: error)
    }
  }
}
