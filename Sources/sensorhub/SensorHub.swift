import ArgumentParser
import CBuild
import Glibc
import Outputs
import Recording

@main
struct SensorHub: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sensorhub",
    abstract: "GPS and IMU of a Linux board as one stream, powered only while a client needs them.",
    discussion: """
      Without hardware: sensorhub run --simulated
      To find devices: sensorhub probe --write my-board.json5
      To run on them: sensorhub run --board my-board.json5
      In a second terminal: sensorhub watch
      """,
    version: versionWithCommit,
    subcommands: [
      Run.self, Watch.self, Devices.self, Probe.self, Check.self, Decode.self, Fuse.self,
      Calibrate.self, Verify.self, Safe.self, Release.self, Chips.self, Record.self, Info.self, Export.self,
      Replay.self, Fleet.self, FenceCommand.self,
    ])

  static let version = "0.2.0"

  /// The version, for example `0.2.0 (d3abdb8e0f12)` if the build stated its commit.
  static var versionWithCommit: String {
    let commit = String(cString: cbuild_commit())
    return commit.isEmpty ? version : "\(version) (\(commit))"
  }

  @MainActor static func main() async {
    // Each connection to a broker is a separate process of this program. In such a process the call does not return.
    BrokerClient.runIfAsked()
    Terminal.replaceClosedStreams()
    // Ignore SIGPIPE, so that writing to a reader that has left is an error and does not end the process.
    signal(SIGPIPE, SIG_IGN)
    // Do not ignore SIGCHLD even if the parent process did: a process that ignores it cannot wait for its child
    // processes.
    signal(SIGCHLD, SIG_DFL)
    do {
      var command = try parsed()
      if let command = command as? Run {
        try command.requireChoice()
        let service = try HubService(board: command.board, socket: command.socket, writesState: command.journalState)
        await withTaskExecutorPreference(SingleThreadExecutor.shared) { await runToEnd(service) }
      } else if let command = command as? Calibrate {
        try requireThread()
        try await withTaskExecutorPreference(SingleThreadExecutor.shared) { try await command.calibrate() }
      } else if let command = command as? Replay, command.isServed {
        try requireThread()
        try await withTaskExecutorPreference(SingleThreadExecutor.shared) { try await command.serve() }
      } else if let command = command as? FleetList, command.http != nil {
        try requireThread()
        try await withTaskExecutorPreference(SingleThreadExecutor.shared) { try await command.serve() }
      } else {
        try command.run()
      }
      try Terminal.requireWritten()
    } catch {
      end(with: error)
    }
  }

  /// Runs the hub, and ends the process on the thread of all tasks. To continue on the main thread's queue would take
  /// one of Dispatch's threads, and the system may have no thread left.
  private static func runToEnd(_ service: HubService) async {
    do {
      try await service.run()
      try Terminal.requireWritten()
    } catch {
      end(with: error)
    }
    Glibc.exit(EXIT_SUCCESS)
  }

  private static func end(with error: any Error) -> Never {
    if let error = error as? CommandError { exit(with: error) }
    if let error = error as? RecordingError { exit(with: CommandError(error)) }
    if let error = error as? SocketError { exit(with: CommandError(error)) }
    let message = fullMessage(for: error)
    let shown = UsageLine.wrapped(message)
    let code = exitCode(for: error)
    if code == .success {
      // Other texts, such as completions for a shell, are printed as they are.
      guard shown != message else { exit(withError: error) }
      Terminal.standardOutput(shown)
      do { try Terminal.requireWritten() } catch { exit(with: error) }
    } else {
      // The parser repeats arguments unchanged. They may come from a script and contain any characters, so make them
      // printable.
      guard Text.printableLines(shown) != message else { exit(withError: error) }
      Terminal.standardError(shown)
    }
    exit(withError: code)
  }

  private static func requireThread() throws {
    let error = SingleThreadExecutor.shared.start()
    guard error != 0 else { return }
    throw CommandError(.unavailable, "cannot start a thread for tasks: \(String(cString: strerror(error)))")
  }

  private static func parsed() throws -> any ParsableCommand {
    let arguments = CommandLine.arguments.dropFirst()
    if let mistake = UsageHint.subcommandMistake(in: arguments) { throw ValidationError(mistake) }
    do {
      return try parseAsRoot()
    } catch {
      guard let message = UsageHint.rewritten(fullMessage(for: error), arguments: arguments) else { throw error }
      Terminal.standardError(UsageLine.wrapped(message))
      throw exitCode(for: error)
    }
  }

  private static func exit(with error: CommandError) -> Never {
    Terminal.standardError("sensorhub: \(error)")
    exit(withError: ExitCode(error.code.rawValue))
  }
}
