import ArgumentParser
import Glibc
import Guarding
import Hub
import MonotonicTime
import NMEA
import Outputs
import Publishing
import Recording
import SystemPackage

/// Runs the hub on a recording, or on a receiver's log.
struct Replay: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run the hub on a recording, or on a receiver's log.",
    discussion: """
      The hub's filters process the recorded measurements again, in the recorded order and with the recorded clock, on \
      the board of the recording or on the board of --board. No device is powered, and the system's clock is not changed. \
      A receiver's log is decoded first.

      Clients connect as to a hub: to the sockets and to the ports that the board file opens (gpsd protocol, NMEA 0183, \
      and the dashboard, where you can pause, step and seek). Long times without recorded data are skipped.

      With --rate max the fused states go to standard output as fast as they can be computed, one JSON object per line in \
      the format of hub.sock. The same recording and the same version give the same bytes.

      \(TimeOption.help)

      Example: sensorhub replay --rate 10 drive.mcap
      In a second terminal: sensorhub watch
      As fast as possible: sensorhub replay --rate max drive.mcap > states.jsonl
      """)

  @Argument(
    help: ArgumentHelp(
      "Recordings, folders of them, or a receiver's log of NMEA 0183, UBX or CASIC.", valueName: "file"))
  var files: [String]

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Speed as a multiple of the recorded speed, or max.", valueName: "factor"))
  var rate = ReplayRate.times(1)

  @Option(help: ArgumentHelp("Leave out everything before this.", valueName: "time"), transform: TimeOption.read)
  var from: ExportTime?

  @Option(help: ArgumentHelp("Leave out this and everything later.", valueName: "time"), transform: TimeOption.read)
  var to: ExportTime?

  @Option(
    help: ArgumentHelp("The board file to use instead of the recorded one.", valueName: "file.json5"))
  var board: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "States per second of recorded time, or all. Default: the rate in the board file.", valueName: "hz"))
  var stateRate: StateRateOption?

  @Flag(help: "At the end of the recording, wait for a client that seeks, until Ctrl-C.")
  var stay = false

  @Option(help: ArgumentHelp("The socket that streams the state; the others are next to it.", valueName: "path"))
  var socket: String?

  func validate() throws {
    if !isServed, stay || socket != nil {
      throw ValidationError("--stay and --socket cannot be combined with --rate max")
    }
    if isServed, stateRate != nil { throw ValidationError("--state-rate needs --rate max") }
    if socket?.isEmpty == true { throw ValidationError("--socket needs a path, such as /tmp/sensorhub/hub.sock") }
    if files.isEmpty { throw ValidationError("name a recording, a folder of them, or a log") }
  }

  func run() throws {
    let (input, first, board) = try opened()
    try print(first, input, board)
  }

  /// Whether the replay serves clients.
  var isServed: Bool { if case .max = rate { false } else { true } }

  /// Plays the recording for clients, at the requested rate.
  func serve() async throws {
    guard case .times(let factor) = rate else { return }
    let (input, first, board) = try opened()
    let (files, from, to, boardFile) = (files, from, to, self.board)
    let isOfHub = if case .recording = input { true } else { false }
    let service = try ReplayService(
      board, on: ReplayStage(first: first, board: board, isLog: input.isLog),
      times: input.times(from: first), rate: factor, staysAtEnd: stay, socket: socket,
      open: { start in
        // A receiver's log is always read from its beginning.
        let from = isOfHub ? start.map { ExportTime.instant(UTCTime(nanosecondsSince1970: $0)) } ?? from : nil
        return try ReplayInput(files, from: from, to: to, board: boardFile)
      })
    try await service.run()
  }

  private func opened() throws -> (ReplayInput, first: ReplayedMessage, Board) {
    // On a terminal, the printed states themselves show the progress.
    let input = try ReplayInput(
      files, from: from, to: to, board: board, showsProgress: !isServed && isatty(STDOUT_FILENO) == 0)
    guard let first = try input.next() else {
      throw CommandError(
        .data, "the recording contains no data of a device",
        nextStep: "sensorhub info lists what the recording contains, with times")
    }
    let board = try input.board(self.board)
    Replay.report(input.devices.subtracting(board.devices.map(\.id)))
    return (input, first, board)
  }

  private static func report(_ unknown: Set<String>) {
    guard !unknown.isEmpty else { return }
    Terminal.standardError(
      "left out: \(unknown.sorted().map(Text.printable).joined(separator: ", ")), because the board has no such device; to use another board file: --board FILE"
    )
  }

  /// Prints the states as fast as they can be computed.
  private func print(_ first: ReplayedMessage, _ input: ReplayInput, _ board: Board) throws {
    let output = try ExportOutput(path: nil, replaces: false)
    let stage = ReplayStage(first: first, board: board, isLog: input.isLog)
    var player = ReplayPlayer(on: stage)
    let host = HubHost(Hub(board: board, on: stage.machine), version: SensorHub.version)
    let lines = StateLines()
    // A recording contains the inputs of the fusion. A log contains only the sentences of its receiver, so the
    // subscription must name parts to start the fusion.
    let parts: Set<StatePart> = input.isLog ? .all : []
    let states = (stateRate?.states(of: host, parts: parts) ?? host.hub.state(rateHz: nil, parts: parts))
      .subscribe(as: "replay", receiveValue: { lines.append($0) })
    defer { states.cancel() }
    let boards = stage.boards.subscribe(as: "replay", receiveValue: { host.serveReplay(on: $0) })
    defer { boards.cancel() }
    do {
      player.play(first)
      while let message = try input.next() {
        player.play(message)
        try lines.flush(beyond: 1 << 16, to: output)
      }
      player.end()
      try lines.flush(beyond: 0, to: output)
    } catch Errno.brokenPipe {
      // The program that reads the output has ended.
      return
    } catch let error as Errno {
      throw CommandError(
        .inputOutput, "\(output.name) cannot be written: \(error)", nextStep: "check the free space of its disk")
    }
    let bad = input.badCount
    if bad.messages > 0 || bad.chunks > 0 {
      Terminal.standardError("bad_messages=\(bad.messages) bad_chunks=\(bad.chunks)")
    }
  }
}
