import ArgumentParser
import CLinux
import Devices
import HardwareIO
import Hub
import MCAP
import MonotonicTime
import NMEA
import Outputs
import Recording
import Simulation

/// Checks a board file.
struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check a board file without starting anything.",
    discussion: """
      Reports everything for which a hub would refuse the file: impossible ports, lines and sockets, and a web port that \
      other machines can reach without a token. The command does not look for devices, so you can check a file on any \
      machine. It compares the data rate of the chips with the speed of their bus (as this machine reports it, otherwise \
      100 kHz), and the size of fences and the accuracy of requests with the usual accuracy of receivers. It also reports what prevents recording on \
      this machine; that is not an error of the file. A missing password, token or certificate is an error only if this \
      machine has one of the board's devices, or with --device. A file that the service can read and you may not is not \
      checked.

      With --device the command also checks this machine: whether the ports, buses and pulses exist, whether the kernel \
      has the timers that some of its drivers need, and whether its console or a login uses one of the ports. It opens \
      no device. Each warning ends with the next step.

      The last lines of the output are the permissions that the service needs, as written for systemd. With \
      --device-policy the command prints only a drop-in for the systemd unit, which lists the kinds of devices that the \
      service may open.

      With --convert the command prints a file that was written for an older hub in its present form, with its comments.

      Example: sensorhub check boards/raspberry-pi-5.json5
      """)

  @Argument(help: "The board file.")
  var board: String

  @Flag(help: "Print the file in its present form, with 'gps' and 'imu' in 'devices'.")
  var convert = false

  @Flag(help: "Also check this machine: whether the devices' ports, buses and pulses exist and are free.")
  var device = false

  @Flag(help: "Print a drop-in for the systemd unit that lists the devices the board needs.")
  var devicePolicy = false

  func run() throws {
    do {
      try check()
    } catch let error as CommandError where error.nextStep == CommandError.mendsBoardFile(board) {
      // The usual next step would be to run this command, so leave it out.
      let all = mistakes
      throw CommandError(
        error.code, all.isEmpty ? error.message : all.joined(separator: "\n"),
        nextStep: "correct the file, and check it again")
    }
  }

  /// All mistakes in the file in the order of its lines. Each text begins with file and line.
  private var mistakes: [String] {
    guard let mistakes = try? BoardMistakes(file: board) else { return [] }
    let all = mistakes.all.map { (line: $0.line, text: "\($0)") } + (mistakes.rest.map(problems) ?? [])
    return all.sorted { $0.line < $1.line }.map(\.text)
  }

  /// The problems that a board file has although each of its values is valid. Each text begins with file and line.
  private func problems(_ board: Board) -> [(line: Int, text: String)] {
    let isElsewhere = !device && !isAt(board, MachineFiles())
    let problems = SimulatedNames.problems(in: board) + BoardProblems.find(in: board, isElsewhere: isElsewhere)
    let lines = BoardLines(file: self.board)
    return problems.map { problem in
      let line = lines?.line(of: problem.key)
      return (line ?? 0, "\(self.board):\(line.map { "\($0):" } ?? "") \(problem)")
    }
  }

  private func check() throws {
    if convert { return try printConverted() }
    let board = try BoardSource(file: board).load()
    if devicePolicy {
      Terminal.standardOutput(file: DevicePolicy(board).dropIn)
      return
    }
    let machine = MachineFiles()
    let isElsewhere = !device && !isAt(board, machine)
    let problems = problems(board)
    guard problems.isEmpty else {
      throw CommandError(
        .data, problems.map(\.text).joined(separator: "\n"),
        nextStep: "correct the file; a hub would start, and ignore this")
    }
    var warnings = BoardWarnings.rates(of: board, on: machine)
    warnings += BoardWarnings.fences(of: board)
    warnings += BoardWarnings.requests(of: board)
    warnings += BoardWarnings.magneticModel(of: board, at: clinux_realtime_ns())
    warnings += BoardWarnings.budgets(of: board)
    warnings += BoardWarnings.battery(of: board)
    warnings += BoardWarnings.sleep(of: board)
    warnings += SecretFile.warnings(of: board)
    if device {
      warnings += BoardWarnings.devices(of: board, on: machine)
      warnings += BoardWarnings.sleep(
        of: board, on: machine, clock: board.sleep?.rtc.flatMap { RealTimeClock($0).problem })
    }
    if isElsewhere {
      for file in BoardProblems.missingFiles(of: board) {
        Terminal.standardError("missing on this machine, and needed on the board: \(file)")
      }
    }
    for file in BoardProblems.filesForServiceAlone(of: board) {
      Terminal.standardError(
        "not checked, because you may not read this file (the service can): \(file); next: sudo sensorhub check "
          + ShellText.word(self.board))
    }
    for warning in warnings { Terminal.standardError("warning: \(warning)") }
    Terminal.standardOutput("\(self.board): valid; the board is '\(board.name)'")
    for device in board.devices {
      var power = describe(device.power)
      if case .receiver(let receiver) = device, receiver.isSwitchedByOthers, receiver.power.switch == .none {
        power = "on only while it is read"
      }
      Terminal.standardOutput("  \(device.id)  \(describe(device)), \(power)")
    }
    if board.devices.isEmpty { Terminal.standardOutput("  no devices: add them to 'devices'") }
    for fence in board.fences { Terminal.standardOutput("  \(describe(fence))") }
    for request in board.requests { Terminal.standardOutput("  request \(request)") }
    if let battery = board.battery { Terminal.standardOutput("  battery \(battery)") }
    if let sleep = board.sleep { Terminal.standardOutput("  \(sleep)") }
    if let endpoint = board.gpsdEndpoint {
      Terminal.standardOutput(
        "  gpsd protocol on \(endpoint), open to \(endpoint.audience)"
          + (board.gpsdParts == .all ? "" : ": for \(board.gpsdParts.names)"))
    }
    for port in board.nmea {
      switch port.place {
      case .clients(let endpoint):
        Terminal.standardOutput("  NMEA 0183 on \(endpoint), open to \(endpoint.audience): \(port.feed)")
      case .datagrams(let target):
        let power = target.keepsAwake ? "keeping the devices awake" : "while other clients keep the devices awake"
        Terminal.standardOutput("  NMEA 0183 to UDP \(target), \(power): \(port.feed)")
      }
    }
    if let signalK = board.signalK {
      Terminal.standardOutput("  Signal K on \(signalK.endpoint), open to \(signalK.endpoint.audience)")
    }
    for server in board.signalKServers {
      let power = server.keepsAwake ? "keeping the devices awake" : "while other clients keep the devices awake"
      let secret = server.tokenFile == nil ? "" : ", with the token"
      let simulated = server.takesSimulated ? ", also simulated values" : ""
      Terminal.standardOutput("  Signal K to \(server)\(secret), \(power)\(simulated)")
    }
    if let bridge = board.bridge {
      Terminal.standardOutput(
        "  raw bridge to \(bridge.device) on \(bridge.endpoint), open to \(bridge.endpoint.audience): "
          + "clients may write to the receiver")
    }
    if let target = board.gdl90 {
      let power = target.keepsAwake ? "keeping the devices awake" : "while other clients keep the devices awake"
      Terminal.standardOutput("  GDL 90 to UDP \(target), \(power)")
    }
    if let port = board.nmea2000 {
      let power = port.keepsAwake ? "keeping the devices awake" : "while other clients keep the devices awake"
      Terminal.standardOutput("  NMEA 2000 to \(port.interface), address \(port.address) if it is free, \(power)")
    }
    if let port = board.mavlink {
      let power = port.keepsAwake ? "keeping the devices awake" : "while other clients keep the devices awake"
      let messages = port.messages.map(\.rawValue).joined(separator: ", ")
      let simulated = port.takesSimulated ? ", also simulated values" : ""
      Terminal.standardOutput(
        "  MAVLink to \(port.line) as system \(port.system), component \(port.component), \(power): "
          + "\(messages)\(simulated)")
    }
    if let http = board.http {
      let secret = http.tokenFile == nil ? "" : ", with the token"
      Terminal.standardOutput("  dashboard on \(http.address), open to \(http.audience)\(secret)")
    }
    if let socket = board.chronySocket { Terminal.standardOutput("  time for chronyd on \(socket)") }
    if let fleet = board.fleet {
      Terminal.standardOutput("  \(describe(fleet))")
      if MQTTError.isLibraryMissing { Terminal.standardError("here \(MQTTError.missingLibrary)") }
    }
    for hook in board.hooks { Terminal.standardOutput("  \(describe(hook))") }
    if board.hooks.contains(where: { $0.webhook != nil }), Curl.path == nil {
      Terminal.standardError("on this machine, \(Curl.missing)")
    }
    if let record = board.record {
      Terminal.standardOutput("  \(describe(record))")
      for line in RecorderOutlook.lines(record, board.requests) { Terminal.standardOutput("    \(line)") }
      if record.compression == .zstd, !MCAPCompression.zstd().isAvailable {
        Terminal.standardError(
          "here \(MCAPError.missingLibrary("zstd")); without the library, the hub records uncompressed")
      }
      if let error = RecordingSetupError.find(for: record) { Terminal.standardError("here \(error)") }
    }
    Terminal.standardOutput("  the service's permissions for this board, from the drop-in for systemd:")
    for line in DevicePolicy(board).lines { Terminal.standardOutput("    \(line)") }
  }

  /// Whether the board file is for this machine: it is the service's file, one of its devices exists in /dev here, or
  /// none of its devices has a path in /dev, for example because all of them are simulated.
  private func isAt(_ board: Board, _ machine: MachineFiles) -> Bool {
    let paths = board.devices.map(\.path).filter { $0.hasPrefix("/dev/") }
    return paths.isEmpty || paths.contains { machine.has($0) }
      || (machine.resolved(self.board) ?? self.board).hasPrefix("/etc/sensorhub/")
  }

  private func printConverted() throws {
    do throws(BoardError) {
      var text = try OldBoardFile.converted(file: board)
      if text.last == UInt8(ascii: "\n") { text.removeLast() }
      Terminal.standardOutput(file: String(decoding: text, as: UTF8.self))
    } catch {
      throw CommandError(error, in: board)
    }
  }

  private func describe(_ device: DeviceDescription) -> String {
    switch device {
    case .receiver(let receiver):
      (device.place.map { "\($0)" } ?? receiver.port)
        + (SerialPortName.hasSpeed(receiver.port)
          ? ", \(receiver.speed.map { "\($0.rawValue) baud" } ?? "speed found by listening")" : "")
        + (receiver.caster.map { ", \(describe($0))" } ?? "")
    case .imu(let imu):
      "\(imu.chip.name) at \(imu.place), \(Text.fixed(imu.rateHz, 1)) Hz in "
        + "\(Text.fixed(imu.burstRateHz, 1)) bursts a second"
    case .magnetometer(let magnetometer):
      "\(magnetometer.chip.name) at \(magnetometer.place), \(Text.fixed(magnetometer.rateHz, 1)) Hz"
    case .barometer(let barometer):
      "\(barometer.chip.name) at \(barometer.place), \(Text.fixed(barometer.rateHz, 1)) Hz"
    case .supplyMonitor(let monitor):
      "\(monitor.chip.name) at \(monitor.place), \(Text.fixed(monitor.rateHz, 1)) Hz, shunt of "
        + "\(monitor.placement.shuntOhms) ohms"
    }
  }

  private func describe(_ fence: FenceSettings) -> String {
    let area =
      switch fence.area.shape {
      case .circle(let centre, let radius):
        "\(Text.fixed(radius, 0)) m around \(Text.fixed(centre.latitudeDegrees, 6)), "
          + Text.fixed(centre.longitudeDegrees, 6)
      case .polygon(let corners): "\(corners.count) corners, \(Text.fixed(fence.area.squareMetres, 0)) m²"
      }
    return "fence \(fence.name): \(area); at least one fix every \(Text.duration(seconds: fence.every.inSeconds)), and "
      + "more near the edge; \(Text.duration(seconds: fence.grace.inSeconds)) of grace"
  }

  private func describe(_ caster: CasterSettings) -> String {
    let told =
      caster.positionInterval.map { ", which gets the position every \(Text.fixed($0.inSeconds, 0)) s" } ?? ""
    let others = caster.alternatives.map { ", else from \($0)" }.joined()
    return "corrections from \(caster)\(others)\(told)"
  }

  private func describe(_ fleet: FleetSettings) -> String {
    let name = (fleet.hub ?? HubIdentity.ofMachine).map { " as '\($0)'" } ?? ""
    let isOpen = !fleet.broker.isEncrypted && !fleet.broker.isLoopback
    let tracks = fleet.ownTracks.map { ", \(describe($0))" } ?? ""
    return "at the broker \(fleet.broker)\(name)\(isOpen ? ", not encrypted" : "")"
      + (fleet.homeAssistant ? ", for Home Assistant too" : "")
      + (fleet.subscribersWake ? ", awake for subscribers" : "")
      + tracks
  }

  private func describe(_ ownTracks: OwnTracksSettings) -> String {
    let request = ownTracks.request
    if let every = request.every { return "for OwnTracks every \(Text.duration(seconds: every.inSeconds))" }
    return "for OwnTracks "
      + (request.errorMetres == nil ? "while other clients keep the devices awake" : "as often as the error requires")
  }

  /// A description of a hook with only the beginning of its address, because the rest may contain a secret.
  private func describe(_ hook: HookSettings) -> String {
    let what =
      switch hook.action {
      case .run(let words, let limit):
        "runs \(words.map(ShellText.word).joined(separator: " ")), for at most "
          + "\(Text.duration(seconds: limit.inSeconds)), as the hub's user and never as root"
      case .post(let webhook):
        "posts to \(webhook.origin)\(webhook.topic.map { ", topic \($0)" } ?? "")"
          + (webhook.tokenFile == nil ? "" : ", with the token")
          + (webhook.origin.scheme == "https" || webhook.isLoopback ? "" : ", not encrypted")
      case .publish(let topic): "publishes '\(topic)' below the hub's topic at its broker"
      }
    return "hook \(hook.key): \(what)"
  }

  private func describe(_ record: RecordSettings) -> String {
    let age = record.maximumAge.map { " of the last \(Text.duration(seconds: $0.inSeconds))" } ?? ""
    let compression = record.compression == .none ? "" : ", compressed with \(record.compression.rawValue)"
    let power = record.wakes ? "keeping the devices awake" : "while other clients keep the devices awake"
    return "recording to \(record.path), at most \(record.maximumMegabytes) MB\(age)\(compression), on the disk within "
      + "\(Text.duration(seconds: record.syncInterval.inSeconds)), \(power)"
  }

  private func describe(_ power: Board.Power) -> String {
    switch power.switch {
    case .none where power.choosesSleep || power.sleep != nil: "always powered, and asleep while no client needs it"
    case .none: "always powered"
    case .gpio(let line, let activeLow): "powered by \(line)\(activeLow ? ", active low" : "")"
    }
  }
}

/// Finds ports and buses whose names in a board file begin like those of simulated devices, but do not exist. Such a
/// device would never answer.
enum SimulatedNames {
  /// The problems. Each one lists the names that exist.
  static func problems(in board: Board) -> [BoardProblem] {
    board.devices.compactMap { device in
      guard SimulatedHardware.isSimulated(device.path) else { return nil }
      let isReceiver = device.kind == .receiver && device.place == nil
      let known = isReceiver ? SimulatedHardware.serialPorts : [SimulatedHardware.i2cBus]
      guard !known.contains(device.path) else { return nil }
      // Compare the names without their common prefix, which would make all of them similar.
      let prefix = SimulatedHardware.prefix
      let guess = NearestWord.guess(
        String(device.path.dropFirst(prefix.count)), among: known.map { String($0.dropFirst(prefix.count)) })
      return BoardProblem(
        "devices.\(device.id).\(isReceiver ? "port" : "bus")",
        "is '\(device.path)', but no simulated device has "
          + "this name; \(guess.map { "did you mean '\(prefix)\($0)'? " } ?? "")"
          + "\(known.count == 1 ? "the only valid one is" : "valid ones are") \(known.joined(separator: ", "))")
    }
  }
}

extension BoardError {
  /// The line of the mistake; 0 if the file could not be read.
  fileprivate var line: Int {
    switch self {
    case .unreadable: 0
    case .syntax(_, let line, _), .unknownKey(_, let line, _, _), .misplacedKey(_, let line, _, _),
      .missingKey(_, let line, _), .wrongValue(_, let line, _, _):
      line
    }
  }
}
