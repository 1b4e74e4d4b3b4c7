import Hub
import FoundationEssentials
import Glibc
import HardwareIO
import TestSupport
import Testing

/// Commands that need no hub.
@Suite(.timeLimit(.minutes(10)))
struct CommandTests {
  /// Arguments, exit code, and words of the message.
  private static let mistakes: [([String], Int32, String)] = [
    (["decode", "/nowhere"], 66, "there is no file"),
    (["check", "/nowhere"], 66, "cannot read '/nowhere'"),
    (["run", "--board", "/nowhere"], 66, "cannot read '/nowhere'"),
    (["check", "/tmp"], 66, "cannot read '/tmp': it is a folder\n  next: give the path of a board file"),
    (["decode", "/tmp"], 66, "'/tmp' is a folder\n  next: give a file"),
    (["decode", "/dev/null"], 65, "'/dev/null' is empty\n  next: give a file"),
    (["info", "/dev/null"], 65, "'/dev/null' is empty"),
    (["run", "--bord", "x"], 64, "Did you mean '--board'?"),
    (["watch", "--rate", "0"], 64, "--rate must be"),
    (["watch", "--parts", "attitude,longitude"], 64, "--parts must be a list of position, altitude, motion, time"),
    (["watch", "--parts", ""], 64, "--parts must be a list of position, altitude, motion, time"),
    (["watch", "--parts", "attitude,"], 64, "--parts must be a list of position, altitude, motion, time"),
    (["watch", "--socket", "/tmp/sensorhub-nobody/hub.sock"], 69, "start one: sensorhub run"),
    (["run", "--socket", ""], 64, "--socket needs a path"),
    (["run", "--socket", "/dev/pts/hub.sock"], 77, "choose a path in a folder of your own"),
    (["devices", "--socket", "/tmp/sensorhub-nobody/hub.sock"], 69, "start one: sensorhub run"),
    (["record", "--socket", "/tmp/sensorhub-nobody/hub.sock"], 69, "start one: sensorhub run"),
    (["record", "--for", "soon"], 64, "--for"),
    (["record", "--for", "0s"], 64, "--for"),
    (["record", "--for", "1e3"], 64, "--for"),
    (["record", "--observe", "--parts", "attitude"], 64, "--observe, which wakes no device"),
    (["record", "--parts", "attitude,nonsense"], 64, "--parts must be a list of"),
    (["record", "--force"], 64, "--force needs --output"),
    (
      ["probe", "--port", "/dev/ttyNone"], 69,
      "there is no serial port /dev/ttyNone; next: list what exists: ls /dev/tty*"
    ),
    (
      ["probe", "--port", "/dev/ttyNone", "--bus", "/dev/i2c-None"], 69,
      "no port and no bus could be probed\n  next: see above"
    ),
    (["watch", "--rate", "-1"], 64, "--rate must be from 0.01 to 1000"),
    (["watch", "--within", "-1"], 64, "--within must be from 0 to 86400"),
    (["record", "--for", "-1"], 64, "The value '-1' is invalid for '--for <time>'"),
    (["calibrate", "gyro", "--timeout", "-1"], 64, "--timeout must be from 1 to 86400"),
    (["export", "/nowhere", "--format", "gpx", "--every", "-1"], 64, "--every must be from 0.001 to 86400"),
    (["export", "/nowhere", "--format", "gpx", "--simplify", "-1"], 64, "--simplify must be from 0 to 100000"),
    (["replay", "/nowhere", "--rate", "-1"], 64, "The value '-1' is invalid for '--rate <factor>'"),
    (["replay", "/nowhere", "--state-rate", "-1"], 64, "The value '-1' is invalid for '--state-rate <hz>'"),
    (["fleet", "hold", "mqtt://[::1]/hub", "--for", "-1"], 64, "The value '-1' is invalid for '--for <time>'"),
    (["fleet", "hold", "mqtt://[::1]/hub", "--rate", "-1"], 64, "--rate must be from 0.001 to 100"),
    (["nonsense"], 64, "there is no subcommand 'nonsense'"),
    (["wach", "--once"], 64, "there is no subcommand 'wach'; did you mean 'watch'?"),
    (["help", "runn"], 64, "there is no subcommand 'runn'; did you mean 'run'?"),
    (["help", "fleet", "held"], 64, "there is no subcommand 'held' of 'fleet'; did you mean 'hold'?"),
    (["watch", "--patrs", "position"], 64, "there is no option '--patrs'; did you mean '--parts'?\nUsage:"),
    (["watch", "localhost"], 64, "The value 'localhost' is invalid for '<hub>'"),
    (["fleet", "holdd", "mqtt://[::1]/hub"], 64, "there is no subcommand 'holdd' of 'fleet'; did you mean 'hold'?"),
    (["watch", "--within", "4"], 64, "--within needs --once, --every"),
    (["run", "my.json5"], 64, "Error: to name a board file, use --board my.json5\nUsage: sensorhub run"),
  ]

  @Test(arguments: mistakes)
  func `a mistake has its own exit code, and its message has the next step`(
    _ arguments: [String], _ code: Int32, _ text: String
  ) {
    let program = Program(arguments)
    #expect(program.wait() == code)
    #expect((program.standardError + program.standardOutput).contains(text), "\(program.standardError)")
  }

  @Test(arguments: [
    "run", "watch", "devices", "probe", "check", "decode", "fuse", "calibrate", "record", "info", "export",
  ])
  func `the help of every command has an example`(_ command: String) {
    let program = Program(["help", command])
    #expect(program.wait() == 0)
    #expect(program.standardOutput.contains("Example: sensorhub \(command)"))
  }

  @Test func `the version is printed, with the revision it was built from if known`() {
    let program = Program(["--version"])
    #expect(program.wait() == 0)
    let words = program.lines.first?.split(separator: " ") ?? []
    #expect(words.first == "0.2.0" && program.lines.count == 1, "\(program.standardOutput)")
    let commit = words.dropFirst().first ?? "(0)"
    #expect(commit.hasPrefix("(") && commit.hasSuffix(")") && words.count <= 2)
    #expect(commit.dropFirst().prefix { $0.isHexDigit }.count >= 1, "\(program.standardOutput)")
  }

  @Test func `decode explains how to decode a hub's recording`() {
    let program = Program(["decode", "-"], input: [0x89] + Array("MCAP0\r\n".utf8))
    #expect(program.wait() == 65)
    #expect(program.standardError.contains("is a hub's recording (MCAP)"), "\(program.standardError)")
    #expect(program.standardError.contains("next: sensorhub export FILE --format nmea | sensorhub decode -"))
    #expect(program.standardOutput.isEmpty)
  }

  @Test func `decode reports that its output has no space left, and the next step`() {
    let line = "$GPRMC,120000.00,A,5231.0000,N,01322.0000,E,1.0,45.0,211126,,,A*6D\r\n"
    let program = Program(
      ["-c", "exec \(Program.sensorhub) decode - >/dev/full"], path: "/bin/sh", input: Array(line.utf8))
    #expect(program.wait() == 74)
    let mistake = "standard output cannot be written: No space left on device\n  next: the output is incomplete: check"
    #expect(program.standardError.contains(mistake), "\(program.standardError)")
  }

  @Test func `decode reads standard input and counts on standard error`() {
    let line = "$GPRMC,120000.00,A,5231.0000,N,01322.0000,E,1.0,45.0,211126,,,A*6D\r\nnoise"
    let program = Program(["decode", "-"], input: Array(line.utf8))
    #expect(program.wait() == 0)
    #expect(program.standardError == "sentences=1 bad_checksum=0 unknown=0 epochs=1\n")
    #expect(program.lines.count == 1)
    #expect(program.lines.first?.contains(#""time":"2026-11-21T12:00:00.000Z""#) == true)
  }

  @Test func `chips lists the chips by their names in board files`() throws {
    let table = Program(["chips"])
    #expect(table.wait() == 0)
    #expect(
      table.lines.contains { $0.hasPrefix("lsm6dsox ") && $0.contains("0x6a, 0x6b ") && $0.contains(" 0x0f = 0x6c ") },
      "\(table.standardOutput)")
    let json = Program(["chips", "--json"])
    #expect(json.wait() == 0)
    struct Chip: Decodable {
      var name, kind: String
      var addresses: [Int]
    }
    let chips = try json.lines.map { try JSONDecoder().decode(Chip.self, from: Data($0.utf8)) }
    #expect(chips.count == table.lines.count - 1)
    #expect(chips.first { $0.name == "mpu-6050" }?.addresses == [0x68, 0x69])
    // A board file may use every listed chip.
    for chip in chips {
      let board = "{ name: 'x', devices: { a: { driver: '\(chip.name)', bus: '/dev/i2c-1' } } }"
      #expect(throws: Never.self) { try Board(json5: Array(board.utf8), file: "x") }
    }
  }

  @Test func `the table of chips fits the terminal's width without cutting chip names`() throws {
    let terminal = TerminalSession("'\(Program.sensorhub)' chips; echo done; sleep 600", columns: 80, rows: 100)
    #expect(eventually { terminal.screen.contains("done") }, "\(terminal.screen)")
    let lines = terminal.screen.split(separator: "\n")
    // A row that wraps would count as two.
    let count = Program(["chips", "--json"])
    #expect(count.wait() == 0)
    let rows = lines.drop { !$0.hasPrefix("driver ") }.dropFirst().prefix {
      !$0.hasPrefix("the terminal is too narrow for ")
    }
    #expect(rows.count == count.lines.count, "\(terminal.screen)")
    let heading = try #require(lines.first { $0.hasPrefix("driver ") })
    #expect(heading.contains(" chip ") && !heading.contains("proven against"))
    #expect(lines.contains { $0.hasPrefix("lsm6dsox ") && $0.contains("LSM6DSOX") })
    // The terminal wraps this line anywhere.
    #expect(terminal.screen.filter { !$0.isWhitespace }.contains("--jsonprintsallcolumns"))
  }

  @Test func `probe writes a board file for the devices that it finds, and explains how to add the rest`() {
    let terminal = PseudoTerminal()
    let file = "/tmp/sensorhub-test-\(getpid())-probed.json5"
    unlink(file)
    defer { unlink(file) }
    let probe = Program(["probe", "--port", terminal.path, "--bus", "simulated/i2c", "--write", file])
    #expect(
      eventually {
        // The command listens only while it looks at this port.
        terminal.writeNow(nmeaLine("GPRMC,120000,V,,,,,,,010126,,,N"))
        return !probe.isRunning
      })
    #expect(probe.wait() == 0, "\(probe.standardError)")
    #expect(probe.standardOutput.contains("an NMEA receiver at 9600 baud"), "\(probe.standardOutput)")
    let check = Program(["check", file])
    #expect(check.wait() == 0, "\(check.standardError)")
    #expect(check.standardOutput.contains("gps  \(terminal.path), 9600 baud"), "\(check.standardOutput)")
    let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
    #expect(text.contains("driver: \"mpu-6050\"") && !text.contains("No receiver was found."), "\(text)")
    // An existing file is not changed.
    let again = Program(["probe", "--port", terminal.path, "--write", file])
    #expect(again.wait() == 66 && again.standardError.contains("already"))
  }

  @Test func `probe reports a port on which it received nothing`() {
    let terminal = PseudoTerminal()
    let probe = Program(["probe", "--port", terminal.path])
    #expect(probe.wait() == 69)
    #expect(probe.standardOutput.contains("nothing received on \(terminal.path)"), "\(probe.standardOutput)")
    #expect(
      probe.standardError.contains("no device found\n  next: check power and wiring"), "\(probe.standardError)")
  }

  @Test func `probe reports a board file that it cannot write before it listens`() {
    let probe = Program(["probe", "--port", "/dev/ttyNone", "--write", "/nowhere/board.json5"])
    #expect(probe.wait() == 74)
    let text = "/nowhere/board.json5 cannot be written: No such file or directory\n  next: --write to another folder"
    #expect(probe.standardError.contains(text) && !probe.standardError.contains("listening"), "\(probe.standardError)")
  }

  @Test(.enabled(if: RootRights.areWanted, "left out by SKIP=root"))
  func `a board file that this user may not read is reported as such`() throws {
    try RootRights.require()
    let file = "/tmp/sensorhub-test-\(getpid())-secret.json5"
    defer { unlink(file) }
    HubProcess.write("{ name: \"secret\", devices: {} }", to: file)
    #expect(chmod(file, 0) == 0)
    // Root has rights that others lack.
    let ordinary = ["--bounding-set=-dac_override,-dac_read_search"]
    let check = Program(ordinary + [Program.sensorhub, "check", file], path: "/usr/bin/setpriv")
    #expect(check.wait() == 77)
    #expect(
      check.standardError.contains("Permission denied\n  next: give this user permission"), "\(check.standardError)")
  }

  @Test func `decode fails for a file in which nothing can be decoded`() {
    let program = Program(["decode", SharedData.packageFolder + "/README.md"])
    #expect(program.wait() == 65)
    #expect(program.standardError.contains("epochs=0\n  next: give a file with NMEA 0183"), "\(program.standardError)")
  }

  /// A login takes the tty from the group dialout, as on a Raspberry Pi's header until it is disabled there.
  @Test(.enabled(if: RootRights.areWanted, "left out by SKIP=root"), arguments: ["tty", "root"])
  func `probe reports a port that a login uses, and how to end the login`(_ group: String) throws {
    try RootRights.require()
    let terminal = PseudoTerminal()
    let number = try #require(getgrnam(group)).pointee.gr_gid
    // A login lets others only write; udev lets a serial port's group read as well.
    #expect(chown(terminal.path, 65534, number) == 0 && chmod(terminal.path, group == "tty" ? 0o620 : 0o660) == 0)
    // Root has rights that others lack.
    let ordinary = ["--clear-groups", "--bounding-set=-dac_override,-dac_read_search", "--regid", "65534"]
    let program = Program(ordinary + [Program.sensorhub, "probe", "--port", terminal.path], path: "/usr/bin/setpriv")
    #expect(program.wait() == 69)
    let isNamed = program.standardOutput.contains("serial port \(terminal.path) is the terminal of a login")
    #expect(isNamed == (group == "tty"), "\(program.standardOutput) \(program.standardError)")
    let nextStep = group == "tty" ? "sudo raspi-config nonint do_serial_cons 1" : "add the user to the group dialout"
    #expect(program.standardOutput.contains(nextStep), "\(program.standardOutput)")
  }

  @Test func `commands in the comments of board files can be typed as they are`() throws {
    let folder = SharedData.packageFolder + "/boards"
    for name in Files.names(in: folder) {
      let text = String(decoding: try Files.bytes(of: "\(folder)/\(name)"), as: UTF8.self)
      for line in text.split(separator: "\n") where line.contains("sensorhub check") {
        let words = line.split { " ,".contains($0) }.drop { $0 != "check" }.dropFirst().filter { $0 != "--device" }
        #expect(words.first?.hasSuffix(".json5") == true, "\(name): \(line)")
      }
    }
  }

  @Test func `check accepts a valid board file and refuses an invalid one`() {
    let right = Program(["check", SharedData.packageFolder + "/boards/raspberry-pi-5.json5"])
    #expect(right.wait() == 0)
    #expect(right.standardOutput.contains("Raspberry Pi 5"))
    let wrong = Program(["check", SharedData.packageFolder + "/README.md"])
    #expect(wrong.wait() == 65)
    #expect(wrong.standardError.contains("README.md:1:"))
  }
}
