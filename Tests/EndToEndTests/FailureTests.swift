import CLinux
import Glibc
import TestSupport
import Testing

/// The reports about devices that do not work: by `watch`, `devices`, the web port and the log, each with the right
/// next step.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct FailureTests {
  private let port = SocketClient.freePort()

  private static func receiver(_ path: String, _ more: String = "") -> String {
    "gps: { driver: \"nmea\", port: \"\(path)\"\(more) }"
  }

  private func board(_ devices: String) -> String {
    "{ name: \"failing\", devices: { \(devices) }, http: { port: \(port) } }"
  }

  /// A report that is expected from a device, or about the board file.
  private struct Report {
    var device: String
    var summary: String
    var nextStep: String
    var isDevice = true
  }

  /// Wakes a hub with a watch, and collects all its reports.
  private func expect(_ reports: [Report], of hub: HubProcess, _ location: SourceLocation = #_sourceLocation) {
    let (watch, json) = (hub.watch([]), hub.watch(["--json"]))
    for report in reports {
      let isWatched = watch.prints { lines in
        lines.contains {
          $0.contains("\(report.device): failed for ") && $0.contains(report.summary) && $0.contains(report.nextStep)
        }
      }
      #expect(isWatched, "\(watch.standardOutput) \(hub.program.standardError)", sourceLocation: location)
      let isTold = json.logs(report.summary)
      #expect(isTold, "\(json.standardError)", sourceLocation: location)
      let isLogged = hub.logs(report.summary)
      #expect(isLogged, "\(hub.program.standardError)", sourceLocation: location)
    }
    #expect(json.lines.allSatisfy { $0.hasPrefix("{") }, sourceLocation: location)
    // A device that is being tried again is listed as such for a moment.
    var listing: [String] = []
    let areListed = eventually {
      let devices = Program(["devices", "--socket", hub.socket])
      devices.wait()
      listing = devices.lines
      return reports.allSatisfy { report in
        listing.contains { $0.hasPrefix("\(report.device): failed for ") && $0.contains(report.summary) }
      }
    }
    #expect(areListed, "\(listing)", sourceLocation: location)
    let body = HTTPAnswer(port, "GET", "/devices").body
    let metrics = HTTPAnswer(port, "GET", "/metrics").body
    for report in reports {
      let step = listing.contains { $0.hasPrefix("  -> ") && $0.contains(report.nextStep) }
      #expect(step, "\(listing)", sourceLocation: location)
      #expect(
        body.contains("\"kind\":\"failed\"") && body.contains(report.summary), "\(body)", sourceLocation: location)
      #expect(
        !report.isDevice || metrics.contains("sensorhub_device_condition{device=\"\(report.device)\",kind=\"failed\""),
        sourceLocation: location)
    }
    for program in [watch, json] {
      program.send(SIGINT)
      program.wait()
    }
  }

  @Test func `each device that does not work is reported with its own next step`() {
    let silent = PseudoTerminal()
    // At the hub's speed this receiver's bytes are noise.
    let noisy = ScriptedReceiver(speed: 4800) { _ in .silence }
    defer { noisy.end() }
    let taken = PseudoTerminal()
    let other = open(taken.path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    defer { close(other) }
    #expect(flock(other, LOCK_EX | LOCK_NB) == 0)
    let hub = HubProcess(
      board: board(
        """
        imu: { driver: "mpu-6050", bus: "/dev/i2c-99" }, usb: { driver: "nmea", port: "/dev/ttyUSB99" },
        silent: { driver: "nmea", port: "\(silent.path)", speed: 9600 },
        noisy: { driver: "nmea", port: "\(noisy.path)", speed: 9600 },
        taken: { driver: "nmea", port: "\(taken.path)" },
        line: { driver: "nmea", port: "simulated/gps", power: { switch: "gpio", chip: "no-such-chip", line: "GPIO17" } }
        """))
    expect(
      [
        Report(
          device: "imu", summary: "there is no I2C bus /dev/i2c-99",
          nextStep: "or correct 'bus' in the board file: ls /dev/i2c-* lists"),
        Report(
          device: "usb", summary: "there is no serial port /dev/ttyUSB99", nextStep: "plug the receiver in"),
        Report(
          device: "silent", summary: "nothing received on \(silent.path) for ",
          nextStep: "check that the receiver has power, and that its TX is wired to this board's RX"),
        Report(
          device: "noisy", summary: "bytes but no sentences on \(noisy.path): wrong speed, or not a receiver",
          nextStep: "leave 'speed' out of the board file"),
        Report(device: "taken", summary: "serial port \(taken.path) is in use by ", nextStep: "stop it first"),
        Report(
          device: "line", summary: "there is no GPIO chip 'no-such-chip'",
          nextStep: "correct 'chip' and 'line' in the board file: gpioinfo lists the lines"),
      ], of: hub)
    // The commands that enable a port are not for USB receivers.
    #expect(!hub.program.standardError.contains("raspi-config"), "\(hub.program.standardError)")
    #expect(hub.stop() == 0)
  }

  @Test(.enabled(if: RootRights.areWanted, "left out by SKIP=root"))
  func `ports that the hub may not open, or whose user it cannot see, are reported with the command that helps`() throws
  {
    try RootRights.require()
    let (taken, foreign) = (PseudoTerminal(), PseudoTerminal())
    let other = open(taken.path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    defer { close(other) }
    #expect(flock(other, LOCK_EX | LOCK_NB) == 0)
    #expect(chown(foreign.path, 65534, 65534) == 0 && chmod(foreign.path, 0o660) == 0)
    let temporary = TemporaryFolder("failure")
    let (folder, socket) = (temporary.path, temporary.path + "/hub.sock")
    HubProcess.write(
      board(
        """
        taken: { driver: "nmea", port: "\(taken.path)" }, foreign: { driver: "nmea", port: "\(foreign.path)" }
        """), to: folder + "/board.json5")
    // A process without the first capability may not look at the files of processes with more capabilities than its
    // own. Without the others, root may open only what its user may.
    let ordinary = ["--bounding-set=-sys_ptrace,-dac_override,-dac_read_search", "--clear-groups"]
    let hub = Program(
      ordinary + [Program.sensorhub, "run", "--socket", socket, "--board", folder + "/board.json5"],
      path: "/usr/bin/setpriv", environment: ["STATE_DIRECTORY=\(folder)/state"])
    #expect(hub.logs("state on \(socket)"), "\(hub.standardError)")
    let watch = Program(["watch", "--socket", socket])
    for line in [
      "serial port \(taken.path) is in use; find the program that uses it, and stop it: sudo fuser -v \(taken.path)",
      "no permission to open serial port \(foreign.path); add the user to the group dialout",
    ] {
      #expect(watch.prints(line), "\(watch.standardOutput) \(hub.standardError)")
    }
    watch.send(SIGINT)
    watch.wait()
    hub.send(SIGTERM)
    #expect(hub.wait() == 0)
  }

  @Test func `a board file that is invalid on a reload is reported until it is corrected`() {
    let right = board(FailureTests.receiver("simulated/gps"))
    let hub = HubProcess(board: right)
    HubProcess.write(right.replacing("port: \"simulated/gps\"", with: "prot: \"simulated/gps\""), to: hub.boardFile)
    hub.program.send(SIGHUP)
    expect(
      [
        Report(
          device: "board file", summary: "did you mean 'devices.gps.port'?",
          nextStep: "correct the file; check it with: sensorhub check \(hub.boardFile)", isDevice: false)
      ], of: hub)
    #expect(hub.logs("'devices.gps.port'?; correct the file; check it with: sensorhub check \(hub.boardFile)\n"))
    HubProcess.write(right, to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(hub.logs("board 'failing' reloaded"))
    #expect(!HTTPAnswer(port, "GET", "/devices").body.contains("did you mean"))
    #expect(hub.stop() == 0)
  }

  @Test func `a failure counts from the first attempt, and ends once the device works, even without a position`() {
    let terminal = PseudoTerminal()
    let temporary = TemporaryFolder("failure")
    let link = temporary.path + "/gps"
    let hub = HubProcess(board: board(FailureTests.receiver(link, ", speed: 9600")))
    let watch = hub.watch([])
    #expect(watch.prints(" s: there is no serial port \(link)"))
    let since = { (body: String) -> String? in body.firstMatch(of: /"forSeconds":(\d+)\.\d,?"?\}\]/).map { "\($0.1)" } }
    // The hub tries at most once a second.
    #expect(
      eventually { since(HTTPAnswer(port, "GET", "/devices").body).flatMap(Int.init).map { $0 >= 3 } ?? false },
      "\(HTTPAnswer(port, "GET", "/devices").body)")
    symlink(terminal.path, link)
    var seconds = 0
    func time() -> String {
      seconds += 1
      return "12\(10 + seconds / 60 % 50)\(seconds % 60 < 10 ? "0" : "")\(seconds % 60).00"
    }
    // At first the receiver sees a single weak satellite.
    func search() -> String {
      let time = time()
      return nmeaLine("GPRMC,\(time),V,,,,,,,211126,,,N") + nmeaLine("GPGGA,\(time),,,,,0,00,99.99,,,,,,")
        + nmeaLine("GPGSV,1,1,01,07,40,083,12")
    }
    let summary = "1 satellite in view (12 dB): a position needs 4"
    let isSearching = eventually {
      terminal.writeNow(search())
      return watch.standardOutput.contains(
        "\(summary); check the antenna's plug and cable, and that the antenna has")
    }
    #expect(isSearching, "\(watch.standardOutput)")
    let body = HTTPAnswer(port, "GET", "/devices").body
    #expect(body.contains("\"severity\":\"waiting\",\"summary\":\"\(summary)\""), "\(body)")
    func position() -> String {
      nmeaLine("GPRMC,\(time()),A,5231.\(1000 + seconds % 8000),N,01322.0000,E,1.0,45.0,211126,,,A")
    }
    let resolvedCount = watch.standardOutput.ranges(of: "gps: resolved").count
    let isOver = eventually {
      terminal.writeNow(position())
      return watch.standardOutput.ranges(of: "gps: resolved").count > resolvedCount
    }
    #expect(isOver, "\(watch.standardOutput)")
    watch.send(SIGINT)
    watch.wait()
    #expect(hub.stop() == 0)
  }

  @Test func `watch ends when its output is closed, even while no state comes`() {
    let terminal = PseudoTerminal()
    let hub = HubProcess(board: board(FailureTests.receiver(terminal.path)))
    // The shell waits for both ends of the pipe.
    let script = "\"$0\" watch --socket \"$1\" | head -n 1"
    let shell = Program(["-c", script, Program.sensorhub, hub.socket], path: "/bin/sh")
    #expect(shell.wait() == 0, "\(shell.standardError)")
    #expect(shell.standardOutput.hasPrefix("gps: acquiring for "), "\(shell.standardOutput)")
    let closed = Program(
      ["-c", "exec \"$0\" watch --socket \"$1\" >&-", Program.sensorhub, hub.socket], path: "/bin/sh")
    #expect(closed.wait() == 74, "\(closed.standardError)")
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `watch prints lines on a terminal without cursor control`() {
    let hub = HubProcess(["--no-journal-state"])
    let terminal = TerminalSession(
      "TERM=dumb \(Program.sensorhub) watch --socket \(hub.socket)", columns: 200, rows: 24)
    #expect(terminal.shows { $0.count { $0.hasPrefix("SIMULATED  fused") } > 2 }, "\(terminal.screen)")
    terminal.close()
    #expect(hub.stop() == 0)
  }
}
