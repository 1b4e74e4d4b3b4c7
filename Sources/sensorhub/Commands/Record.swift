import ArgumentParser
import CLinux
import Glibc
import Hub
import MCAP
import Outputs
import Recording
import SystemPackage

/// Records a hub's data into one file.
struct Record: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Record the running hub into an MCAP file. Recording wakes the devices.",
    discussion: """
      The file has what the receivers and the sensors said, the fused state, what each device's power did and why, and \
      the log. It ends after the time that --for names, with Ctrl-C or with SIGTERM, and is whole then; a second \
      Ctrl-C does not wait for that. What has come is in the file within a second.

      With --output - it goes to standard output, if that is no terminal. If nobody reads that any more, Ctrl-C and \
      SIGTERM do not wait for it.

      Example: sensorhub record --for 10m --output drive.mcap
      What others have woken, and nothing else: sensorhub record --observe
      """)

  @Option(
    name: .customLong("for"), parsing: .unconditional,
    help: ArgumentHelp("How long: 90 or 90s, 10m, 1h. Without it until Ctrl-C.", valueName: "time"))
  var duration: DurationOption?

  @Option(
    help: ArgumentHelp(
      "The file; without it sensorhub-TIME.mcap in the present folder, with the time of now in UTC.", valueName: "file")
  )
  var output: String?

  @Flag(help: "Replace a file that is there already.")
  var force = false

  @Flag(help: "Wake nothing: record devices that others have woken.")
  var observe = false

  @Option(
    help: ArgumentHelp(
      "Wake only devices for these parts of the state, and record others that are awake anyway: some of "
        + "\(Set<StatePart>.all.names), with commas between.", valueName: "names"))
  var parts: String?

  @Option(help: ArgumentHelp("The hub's state socket; record.sock is next to it.", valueName: "path"))
  var socket: String?

  func validate() throws {
    if output == "" { throw ValidationError("--output needs a path") }
    if force, output == nil || output == "-" { throw ValidationError("--force needs --output with a file") }
    if observe, parts != nil { throw ValidationError("--parts says what to wake, and --observe wakes nothing") }
    if let parts, Record.parts(parts) == nil {
      throw ValidationError("--parts must be some of \(Set<StatePart>.all.names), with commas between")
    }
  }

  func run() throws {
    if output == "-", isatty(STDOUT_FILENO) == 1 {
      throw ValidationError("an MCAP file is nothing for a terminal: name a file with --output")
    }
    let connection = try connect()
    let stamp = UTCStamp(nanosecondsSince1970: clinux_realtime_ns()).basic
    let target = try RecordTarget(
      path: output == "-" ? nil : output ?? "sensorhub-\(stamp).mcap", replaces: force)
    // If an error occurs before the first bytes arrive, remove the empty file.
    defer { target.discard() }
    let signals = try EndSignals()
    connection.send(request)
    var receiver = RecordReceiver(connection, to: target, for: duration?.duration, signals: signals)
    let ending = try receiver.run()
    try finish(target, ending, seconds: receiver.seconds)
  }

  /// The request, as a line of JSON.
  private var request: String {
    let names = parts.flatMap(Record.parts)?.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
    let chosen = names.map { ", \"parts\": [\($0)]" } ?? ""
    return "{\"name\": \"record\", \"wakes\": \(!observe), \"syncSeconds\": 1\(chosen)}"
  }

  private static func parts(_ text: String) -> Set<StatePart>? {
    Set(names: text.split(separator: ",", omittingEmptySubsequences: false).map { $0.filter { $0 != " " } })
  }

  private func connect() throws -> HubConnection {
    do {
      return try HubConnection.open(socket) { $0.record }
    } catch let error as CommandError where error.code == .unavailable {
      // A request for the status of the devices wakes no device.
      guard (try? HubConnection.open(socket) { $0.devices }) != nil else { throw error }
      throw CommandError(
        .unavailable, "the hub that is running has no record.sock: it is older than this program",
        nextStep: "start it again with this version: sensorhub \(SensorHub.version)")
    }
  }

  // MARK: The end

  private func finish(_ target: RecordTarget, _ ending: RecordReceiver.Ending, seconds: Double) throws {
    // The program that reads the output has ended.
    if case .failed(.brokenPipe) = ending { return }
    if case .interrupted = ending {
      Terminal.standardError("\(target.name) is left as it is, without an end; sensorhub info reads its messages")
      throw ExitCode(128 + SIGINT)
    }
    let (isWhole, state) = try mend(target, after: ending)
    switch ending {
    case .asked where isWhole: break
    case .asked, .closed:
      throw CommandError(
        .unavailable, "the hub has ended the recording after \(Text.duration(seconds: seconds)); \(state)",
        nextStep: "see the hub's log, and start it again")
    case .silent:
      throw CommandError(
        .unavailable, "the hub does not answer any more; \(state)", nextStep: "see the hub's log, and start it again")
    case .stalled(let count):
      throw CommandError(
        .inputOutput,
        "\(target.name) takes nothing any more: \(RecordingContents.size(UInt64(count))) that had come, and what followed, "
          + "could not be written; \(state)",
        nextStep: "see whether its reader still runs, or name a file with --output")
    case .failed(let error):
      throw CommandError(
        .inputOutput, "\(target.name) cannot be written: \(error); \(state)",
        nextStep: "is there space where it goes? Name another place with --output")
    case .interrupted: return
    }
    do throws(Errno) {
      try target.synchronize()
    } catch {
      throw CommandError(.inputOutput, "\(target.name) cannot be written: \(error)")
    }
    let text = "recorded \(Text.duration(seconds: seconds)): \(RecordingContents.size(target.byteCount))"
    guard let path = target.path else { return Terminal.standardError(text) }
    Terminal.standardOutput("\(text) in \(path)")
    if target.isFile { Terminal.standardOutput("  next: sensorhub info \(ShellText.word(path))") }
  }

  /// Repairs a file that has no end.
  ///
  /// - Returns: whether the file had an end, and its present state in words
  private func mend(
    _ target: RecordTarget, after ending: RecordReceiver.Ending
  ) throws(CommandError) -> (isWhole: Bool, state: String) {
    guard target.isFile else {
      let state = "the written file has \(target.hasEnd ? "its" : "no") end"
      return (target.hasEnd, "\(state): \(RecordingContents.size(target.byteCount))")
    }
    do throws(MCAPError) {
      let repair = try target.repair()
      let count = "\(repair.messageCount) \(repair.messageCount == 1 ? "message" : "messages")"
      guard repair.isNeeded else { return (true, "\(target.name) is whole: \(count)") }
      return (false, "\(target.name) was cut off and is whole again: \(count)")
    } catch {
      return (false, "\(target.name) was cut off, and cannot be made whole: \(error.summary)")
    }
  }
}
