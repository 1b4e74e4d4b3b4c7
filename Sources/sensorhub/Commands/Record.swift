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
      The file contains all messages of receivers and sensors, the fused state, each power change with its reason, and \
      the log. Data is in the file within one second of its arrival. The recording ends after --for, or with Ctrl-C or \
      SIGTERM, and the file is then complete. A second Ctrl-C ends at once and leaves the file without an end.

      With --output - the recording goes to standard output, which must not be a terminal. If the reader of standard \
      output has stopped reading, Ctrl-C and SIGTERM do not wait for it.

      Example: sensorhub record --for 10m --output drive.mcap
      To record without waking devices: sensorhub record --observe
      """)

  @Option(
    name: .customLong("for"), parsing: .unconditional,
    help: ArgumentHelp("How long to record: 90 or 90s, 10m, 1h. Default: until Ctrl-C.", valueName: "time"))
  var duration: DurationOption?

  @Option(
    help: ArgumentHelp(
      "The file. Default: sensorhub-TIME.mcap in the current folder, named by the current UTC time.", valueName: "file")
  )
  var output: String?

  @Flag(help: "Replace an existing file.")
  var force = false

  @Flag(help: "Wake no device: record only devices that other clients keep awake.")
  var observe = false

  @Option(
    help: ArgumentHelp(
      "Wake only the devices for these parts of the state; other devices are recorded while other clients keep them awake. A list of "
        + "\(Set<StatePart>.all.names), separated by commas.", valueName: "names"))
  var parts: String?

  @Option(help: ArgumentHelp("The hub's state socket; record.sock is next to it.", valueName: "path"))
  var socket: String?

  func validate() throws {
    if output == "" { throw ValidationError("--output needs a path") }
    if force, output == nil || output == "-" { throw ValidationError("--force needs --output with a file") }
    if observe, parts != nil {
      throw ValidationError("--parts cannot be combined with --observe, which wakes no device")
    }
    if let parts, Record.parts(parts) == nil {
      throw ValidationError("--parts must be a list of \(Set<StatePart>.all.names), separated by commas")
    }
  }

  func run() throws {
    if output == "-", isatty(STDOUT_FILENO) == 1 {
      throw ValidationError("an MCAP file is binary: name a file with --output")
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
      // Find out whether a hub runs at all. A request for the status of the devices wakes no device.
      guard (try? HubConnection.open(socket) { $0.devices }) != nil else { throw error }
      throw CommandError(
        .unavailable, "the running hub has no record.sock, because its version is older than this program's",
        nextStep: "restart the hub with this version: sensorhub \(SensorHub.version)")
    }
  }

  // MARK: The end

  private func finish(_ target: RecordTarget, _ ending: RecordReceiver.Ending, seconds: Double) throws {
    // The program that reads the output has ended.
    if case .failed(.brokenPipe) = ending { return }
    if case .interrupted = ending {
      Terminal.standardError("\(target.name) has no end record; sensorhub info can still read its messages")
      throw ExitCode(128 + SIGINT)
    }
    let (isWhole, state) = try mend(target, after: ending)
    switch ending {
    case .asked where isWhole: break
    case .asked, .closed:
      throw CommandError(
        .unavailable, "the hub ended the recording after \(Text.duration(seconds: seconds)); \(state)",
        nextStep: "read the hub's log, and restart the hub")
    case .silent:
      throw CommandError(
        .unavailable, "the hub no longer answers; \(state)", nextStep: "read the hub's log, and restart the hub")
    case .stalled(let count):
      throw CommandError(
        .inputOutput,
        "cannot write to \(target.name) any more: \(RecordingContents.size(UInt64(count))) that had arrived, and all later data, "
          + "are lost; \(state)",
        nextStep: "check that the program that reads it still runs, or name a file with --output")
    case .failed(let error):
      throw CommandError(
        .inputOutput, "\(target.name) cannot be written: \(error); \(state)",
        nextStep: "check the free space of its disk, or choose another path with --output")
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

  /// Repairs a file that has no end record.
  ///
  /// - Returns: whether the file had an end record, and its present state in words
  private func mend(
    _ target: RecordTarget, after ending: RecordReceiver.Ending
  ) throws(CommandError) -> (isWhole: Bool, state: String) {
    guard target.isFile else {
      let state = "the written file has \(target.hasEnd ? "an" : "no") end record"
      return (target.hasEnd, "\(state): \(RecordingContents.size(target.byteCount))")
    }
    do throws(MCAPError) {
      let repair = try target.repair()
      let count = "\(repair.messageCount) \(repair.messageCount == 1 ? "message" : "messages")"
      guard repair.isNeeded else { return (true, "\(target.name) is complete: \(count)") }
      return (false, "\(target.name) was cut off and is repaired: \(count)")
    } catch {
      return (false, "\(target.name) was cut off, and cannot be repaired: \(error.summary)")
    }
  }
}
