import CAllocations
import Glibc

/// Usage: benchmarks SENSORHUB [FOLDER OF NMEA LOGS | parsing | publishing | hub | latency | events | gpsd | pauses | power [--plot FILE] | error [--plot FILE] [DRIVE FOLDER] | soak [--scale PART] [PHASE...]]
@main
struct Main {
  /// The folder next to the project, regardless of the working directory.
  private static let sharedData =
    #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" } + "/../shared/data"

  static func main() {
    let arguments = CommandLine.arguments
    guard arguments.count >= 2 else {
      print(
        "usage: benchmarks SENSORHUB [FOLDER OF NMEA LOGS | parsing | publishing | hub | latency | events | gpsd | pauses | power [--plot FILE] | error [--plot FILE] [DRIVE FOLDER] | soak [--scale PART] [PHASE...]]"
      )
      exit(64)
    }
    if arguments.count == 4, arguments[1] == "relay", let port = UInt16(arguments[2]) {
      Relay.run(port: port, tty: arguments[3])
    }
    if arguments.count > 2, arguments[2] == "soak" {
      SoakBenchmark(executable: arguments[1], arguments: Array(arguments[3...])).run()
    }
    if arguments.count > 2, arguments[2] == "power" {
      return PowerBenchmark(plot: arguments.count == 5 && arguments[3] == "--plot" ? arguments[4] : nil).run()
    }
    if arguments.count > 2, arguments[2] == "error" {
      let rest = Array(arguments[3...])
      let isPlotted = rest.count > 1 && rest[0] == "--plot"
      let folder = rest.dropFirst(isPlotted ? 2 : 0).first ?? sharedData + "/drive"
      return ErrorBenchmark(drive: folder, plot: isPlotted ? rest[1] : nil).run()
    }
    if arguments.last == "parsing" { return parsing(Recording(folder: sharedData + "/nmea")).run() }
    if arguments.last == "publishing" { return PublishingBenchmark().run() }
    if arguments.last == "hub" { return HubBenchmark().run() }
    if arguments.last == "pauses" { return PausesBenchmark().run() }
    if arguments.last == "latency" { return LatencyBenchmark(executable: arguments[1]).run() }
    if let output = arguments.last.flatMap(ClientsBenchmark.Output.init) {
      return ClientsBenchmark(executable: arguments[1], output: output).run()
    }
    let folder = arguments.count > 2 ? arguments[2] : sharedData + "/nmea"
    let recording = Recording(folder: folder)
    DecodingBenchmark(executable: arguments[1], recording: recording).run()
    parsing(recording).run()
    OrientationBenchmark().run()
    NavigationBenchmark().run()
    PublishingBenchmark().run()
    HubBenchmark().run()
    LatencyBenchmark(executable: arguments[1]).run()
    ClientsBenchmark(executable: arguments[1], output: .events).run()
    ClientsBenchmark(executable: arguments[1], output: .gpsd).run()
    PowerBenchmark(plot: nil).run()
    IdleBenchmark(executable: arguments[1]).run()
  }

  private static func parsing(_ recording: Recording) -> ParsingBenchmark {
    ParsingBenchmark(recording: recording, messages: Recording.messages(folder: sharedData + "/ubx"))
  }
}
