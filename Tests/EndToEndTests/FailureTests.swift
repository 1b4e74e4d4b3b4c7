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

  /// Starts a hub, wakes it with a watch, and collects all its reports.
  private func expect(
    _ device: String, of hub: HubProcess, _ kind: String, says summary: String, nextStep: String,
    isDevice: Bool = true, while feed: () -> Void = {}, _ location: SourceLocation = #_sourceLocation
  ) {
    let watch = hub.watch([])
    let isWatched = eventually {
      feed()
      return watch.lines.contains {
        $0.contains("\(device): \(kind) for ") && $0.contains(summary) && $0.contains(nextStep)
      }
    }
    #expect(isWatched, "\(watch.standardOutput) \(hub.program.standardError)", sourceLocation: location)
    let json = hub.watch(["--json"])
    let isTold = eventually {
      feed()
      return json.standardError.contains(summary)
    }
    #expect(isTold, "\(json.standardError)", sourceLocation: location)
    #expect(json.lines.allSatisfy { $0.hasPrefix("{") }, sourceLocation: location)
    // Fed again: the hub's next try says something else if it hears nothing.
    var listing: [String] = []
    let isListed = eventually {
      feed()
      let devices = Program(["devices", "--socket", hub.socket])
      devices.wait()
      listing = devices.lines
      return listing.contains { $0.hasPrefix("\(device): \(kind) for ") && $0.contains(summary) }
    }
    #expect(isListed, "\(listing)", sourceLocation: location)
    let step = listing.contains { $0.hasPrefix("  -> ") && $0.contains(nextStep) }
    #expect(step, "\(listing)", sourceLocation: location)
    let body = HTTPAnswer(port, "GET", "/devices").body
    #expect(body.contains("\"kind\":\"\(kind)\"") && body.contains(summary), "\(body)", sourceLocation: location)
    let metrics = HTTPAnswer(port, "GET", "/metrics").body
    #expect(
      !isDevice || metrics.contains("sensorhub_device_condition{device=\"\(device)\",kind=\"\(kind)\""),
      sourceLocation: location)
    let isLogged = hub.logs(summary)
    #expect(isLogged, "\(hub.program.standardError)", sourceLocation: location)
    for program in [watch, json] {
      program.send(SIGINT)
      program.wait()
    }
  }

  @Test func `a missing bus is reported with the next step`() {
    let hub = HubProcess(board: board("imu: { driver: \"mpu-6050\", bus: \"/dev/i2c-99\" }"))
    expect(
      "imu", of: hub, "failed", says: "there is no I2C bus /dev/i2c-99",
      nextStep: "or correct 'bus' in the board file: ls /dev/i2c-* lists")
    #expect(hub.stop() == 0)
  }

  @Test func `a missing USB receiver is reported without the commands that enable a port`() {
    let hub = HubProcess(board: board(FailureTests.receiver("/dev/ttyUSB99")))
    expect(
      "gps", of: hub, "failed", says: "there is no serial port /dev/ttyUSB99", nextStep: "plug the receiver in")
    #expect(!hub.program.standardError.contains("raspi-config"), "\(hub.program.standardError)")
    #expect(hub.stop() == 0)
  }

  @Test func `a silent serial line is reported, with advice to check power and wiring`() {
    let terminal = PseudoTerminal()
    let hub = HubProcess(board: board(FailureTests.receiver(terminal.path, ", speed: 9600")))
    expect(
      "gps", of: hub, "failed", says: "nothing received on \(terminal.path) for ",
      nextStep: "check that the receiver has power, and that its TX is wired to this board's RX")
    #expect(hub.stop() == 0)
  }

  @Test(arguments: ["\u{1}\u{7F}\u{0}x\u{2}\u{3}\u{4}", "raspberrypi login: "])
  func `bytes that are not sentences are reported, for another speed and for a login`(_ noise: String) {
    let terminal = PseudoTerminal()
    let hub = HubProcess(board: board(FailureTests.receiver(terminal.path, ", speed: 9600")))
    expect(
      "gps", of: hub, "failed", says: "bytes but no sentences on \(terminal.path): wrong speed, or not a receiver",
      nextStep: "leave 'speed' out of the board file", while: { terminal.writeNow(noise) })
    #expect(hub.stop() == 0)
  }

  @Test func `a receiver with a single weak satellite is reported with the next step`() {
    let terminal = PseudoTerminal()
    var seconds = 0
    func epoch() -> String {
      seconds += 1
      let time = "12\(10 + seconds / 60 % 50)\(seconds % 60 < 10 ? "0" : "")\(seconds % 60).00"
      return nmeaLine("GPRMC,\(time),V,,,,,,,211126,,,N") + nmeaLine("GPGGA,\(time),,,,,0,00,99.99,,,,,,")
        + nmeaLine("GPGSV,1,1,01,07,40,083,12")
    }
    let hub = HubProcess(board: board(FailureTests.receiver(terminal.path, ", speed: 9600")))
    let watch = hub.watch([])
    #expect(
      eventually {
        terminal.writeNow(epoch())
        return watch.standardOutput.contains(
          "1 satellite in view (12 dB): a position needs 4; check the antenna's plug and cable, and that the antenna has"
        )
      }, "\(watch.standardOutput)")
    let body = HTTPAnswer(port, "GET", "/devices").body
    let summary = "1 satellite in view (12 dB): a position needs 4"
    #expect(body.contains("\"severity\":\"waiting\",\"summary\":\"\(summary)\""), "\(body)")
    watch.send(SIGINT)
    watch.wait()
    #expect(hub.stop() == 0)
  }

  @Test func `a serial port that another program uses is reported`() {
    let terminal = PseudoTerminal()
    let other = open(terminal.path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    defer { close(other) }
    #expect(flock(other, LOCK_EX | LOCK_NB) == 0)
    let hub = HubProcess(board: board(FailureTests.receiver(terminal.path)))
    expect(
      "gps", of: hub, "failed", says: "serial port \(terminal.path) is in use by ", nextStep: "stop it first")
    #expect(hub.stop() == 0)
  }

  @Test(.enabled(if: geteuid() == 0, "takes root, to hide a program from the hub"))
  func `a serial port whose user the hub cannot see is reported with the command that shows the user`() {
    let terminal = PseudoTerminal()
    let other = open(terminal.path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    defer { close(other) }
    #expect(flock(other, LOCK_EX | LOCK_NB) == 0)
    let temporary = TemporaryFolder("failure")
    let (folder, socket) = (temporary.path, temporary.path + "/hub.sock")
    HubProcess.write(board(FailureTests.receiver(terminal.path)), to: folder + "/board.json5")
    // A process without this capability may not look at the files of processes with more capabilities than its own.
    let blind = ["--bounding-set=-sys_ptrace"]
    let hub = Program(
      blind + [Program.sensorhub, "run", "--socket", socket, "--board", folder + "/board.json5"],
      path: "/usr/bin/setpriv", environment: ["STATE_DIRECTORY=\(folder)/state"])
    #expect(hub.logs("state on \(socket)"), "\(hub.standardError)")
    let watch = Program(["watch", "--socket", socket])
    let line =
      "serial port \(terminal.path) is in use; find the program that uses it, and stop it: sudo fuser -v \(terminal.path)"
    #expect(watch.prints(line), "\(watch.standardOutput) \(hub.standardError)")
    watch.send(SIGINT)
    watch.wait()
    hub.send(SIGTERM)
    #expect(hub.wait() == 0)
  }

  @Test func `a missing line of a GPIO chip is reported`() {
    let power = "power: { switch: \"gpio\", chip: \"no-such-chip\", line: \"GPIO17\" }"
    let hub = HubProcess(board: board("gps: { driver: \"nmea\", port: \"simulated/gps\", \(power) }"))
    expect(
      "gps", of: hub, "failed", says: "there is no GPIO chip 'no-such-chip'",
      nextStep: "correct 'chip' and 'line' in the board file: gpioinfo lists the lines")
    #expect(hub.stop() == 0)
  }

  @Test(.enabled(if: geteuid() == 0, "takes root, to give a tty to others"))
  func `a port that the hub's user may not open is reported`() {
    let terminal = PseudoTerminal()
    #expect(chown(terminal.path, 65534, 65534) == 0 && chmod(terminal.path, 0o660) == 0)
    let temporary = TemporaryFolder("failure")
    let (folder, socket) = (temporary.path, temporary.path + "/hub.sock")
    HubProcess.write(board(FailureTests.receiver(terminal.path)), to: folder + "/board.json5")
    let ordinary = ["--bounding-set=-dac_override,-dac_read_search", "--clear-groups"]
    let hub = Program(
      ordinary + [Program.sensorhub, "run", "--socket", socket, "--board", folder + "/board.json5"],
      path: "/usr/bin/setpriv", environment: ["STATE_DIRECTORY=\(folder)/state"])
    #expect(hub.logs("state on \(socket)"), "\(hub.standardError)")
    let watch = Program(["watch", "--socket", socket])
    let line = "no permission to open serial port \(terminal.path); add the user to the group dialout"
    #expect(watch.prints(line), "\(watch.standardOutput) \(hub.standardError)")
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
      "board file", of: hub, "failed", says: "did you mean 'devices.gps.port'?",
      nextStep: "correct the file; check it with: sensorhub check \(hub.boardFile)",
      isDevice: false)
    #expect(hub.logs("'devices.gps.port'?; correct the file; check it with: sensorhub check \(hub.boardFile)\n"))
    HubProcess.write(right, to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(eventually { !HTTPAnswer(port, "GET", "/devices").body.contains("\"conditions\"") })
    #expect(hub.stop() == 0)
  }

  @Test func `a failure counts from the first attempt, and ends once the device works`() {
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
    func position() -> String {
      seconds += 1
      let time = "12\(10 + seconds / 60 % 50)\(seconds % 60 < 10 ? "0" : "")\(seconds % 60).00"
      return nmeaLine("GPRMC,\(time),A,5231.\(1000 + seconds % 8000),N,01322.0000,E,1.0,45.0,211126,,,A")
    }
    let isOver = eventually {
      terminal.writeNow(position())
      return watch.standardOutput.contains("gps: resolved")
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
    #expect(
      eventually { terminal.rows.count { $0.hasPrefix("SIMULATED  fused") } > 2 }, "\(terminal.screen)")
    terminal.close()
    #expect(hub.stop() == 0)
  }
}
