import Glibc
import HardwareIO
import TestSupport
import Testing

/// The program as its users run it.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct HubProcessTests {
  @Test func `an idle hub has no device open, a watch wakes the devices, and they sleep after it`() {
    let hub = HubProcess(["--no-journal-state"])
    #expect(hub.openDevices.isEmpty)
    #expect(hub.devices.devices.allSatisfy { ["off", "asleep"].contains($0.power) && $0.wakes == 0 })
    let watch = hub.watch()
    #expect(watch.prints("\"mode\":\"fused\""), "\(watch.standardError)")
    let devices = hub.devices
    #expect(devices["gps"].power == "tracking")
    #expect(devices["imu"].power == "tracking")
    #expect(devices["gps"].holders == ["watch[\(watch.pid)]"])
    #expect(!hub.openDevices.isEmpty)
    watch.send(SIGINT)
    watch.wait()
    #expect(hub.logs("gps: lingering (") && hub.logs("gps: off (") && hub.logs("imu: off ("))
    // The other devices follow.
    #expect(hub.comesToRest(), "\(hub.program.standardError)")
    #expect(hub.devicesNow.devices.allSatisfy { $0.wakes == 1 })
    // The far end of the simulated receiver's line has its own thread, which ends when it next looks.
    #expect(eventually { hub.openDevices.isEmpty }, "\(hub.openDevices)")
    #expect(hub.stop() == 0)
  }

  @Test(arguments: ["hub.sock", "hub.sock~", "devices.sock"])
  func `a hub replaces no ordinary file by its socket`(_ name: String) {
    let folder = TemporaryFolder("socket")
    HubProcess.write("kept", to: "\(folder.path)/\(name)")
    let hub = Program(["run", "--simulated", "--socket", "\(folder.path)/hub.sock"])
    #expect(hub.wait() == 74)
    #expect(hub.standardError.contains("there is already \(folder.path)/\(name), and it is not a socket"))
    #expect((try? Files.bytes(of: "\(folder.path)/\(name)")) == Array("kept".utf8))
  }

  @Test func `the log names the client that switches a device on, and the one that leaves`() {
    let hub = HubProcess(["--no-journal-state"])
    let watch = hub.watch()
    #expect(hub.logs("gps: tracking") && hub.logs("imu: tracking"))
    let devices = hub.devicesNow
    for id in ["gps", "imu"] { #expect(devices[id].holders == ["watch[\(watch.pid)]"]) }
    watch.send(SIGINT)
    watch.wait()
    #expect(hub.logs("gps: off (") && hub.logs("imu: off ("))
    #expect(hub.devices["gps"].reason == "no subscriber came back")
    hub.stop()
    let log = hub.program.standardError
    for id in ["gps", "imu"] {
      // On a busy machine the hub may not have received the program's name yet.
      let names = ["watch[\(watch.pid)]", "sensorhub[\(watch.pid)]"]
      #expect(names.contains { log.contains("\(id): settling (\($0) subscribed)") }, "\(log)")
      #expect(log.contains("\(id): lingering (watch[\(watch.pid)] left)"), "\(log)")
    }
  }

  /// If clients were disconnected first, the lines would wait for all of them.
  @Test func `a hub that ends switches its devices off before it disconnects its clients`() {
    let port = SocketClient.freePort()
    let hub = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port) }"))
    #expect(hub.logs("dashboard on"), "\(hub.program.standardError)")
    let stream = SocketClient(port: port)
    stream.send("GET /events?rate=10 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(hub.logs("gps: tracking") && hub.logs("imu: tracking"))
    #expect(hub.stop() == 0)
    let log = hub.program.standardError
    #expect(log.hasSuffix("stopped; all power lines are off\n") && !log.contains("lingering"), "\(log)")
    withExtendedLifetime(stream) {}
  }

  @Test func `the built-in board prints fused states without a board file, and Ctrl-C powers it off`() {
    let hub = HubProcess()
    #expect(hub.logs("fused  "), "\(hub.program.standardError)")
    #expect(hub.devices["gps"].holders == ["journal"])
    #expect(hub.stop(SIGINT) == 0)
    #expect(hub.program.standardError.contains("all power lines are off"))
    #expect(access(hub.socket, F_OK) != 0)
  }

  @Test func `a stopped watch delays no other client`() {
    let hub = HubProcess(["--no-journal-state"])
    let stalled = hub.watch(["--json", "--rate", "1000"])
    #expect(stalled.prints("\"mode\":\"fused\""))
    #expect(stalled.halt())
    let other = hub.watch(["--json", "--rate", "100"])
    // There are more lines than a socket buffer holds, so the stalled client must have lost some.
    #expect(eventually(within: .seconds(240)) { other.lines.count > 280 })
    #expect(hub.devices["gps"].holders.count == 2)
    stalled.send(SIGKILL)
    #expect(eventually { hub.devicesNow["gps"].holders.count == 1 })
    other.send(SIGINT)
    other.wait()
    #expect(hub.stop() == 0)
  }

  @Test func `twenty visits leak no thread and no descriptor`() {
    let hub = HubProcess(["--no-journal-state"])
    // The first visit starts threads that stay.
    hub.watch(["--once"]).wait()
    #expect(hub.comesToRest())
    let before = hub.resources
    for _ in 0..<20 { hub.watch(["--once"]).wait() }
    #expect(hub.comesToRest())
    // There are no more threads than before. A thread of the first visit may still have been ending then.
    #expect(
      eventually { zip(hub.resources, before).allSatisfy { $0 <= $1 } }, "\(before) became \(hub.resources)")
    #expect(hub.stop() == 0)
  }

  @Test func `visits to devices that fail leak no thread and no descriptor`() {
    let power = { (chip: String) in
      "power: { switch: \"gpio\", chip: \"\(chip)\", line: \"mag-power\", lingerSeconds: 0 }"
    }
    // The board names a port, a bus and a GPIO chip that are missing, and an address without a chip.
    let board = """
      { name: "failing", devices: {
        gps: { driver: "nmea", port: "/dev/ttyUSB98", speed: 9600 }, air: { driver: "bme280", bus: "/dev/i2c-98" },
        imu: { driver: "mpu-6050", bus: "simulated/i2c", \(power("no-such-chip")) },
        mag: { driver: "lis3mdl", bus: "simulated/i2c", address: 0x1e, \(power("simulated")) } } }
      """
    let hub = HubProcess(board: board, ["--no-journal-state"])
    func visit() {
      let watch = hub.watch()
      let isFailing = eventually {
        hub.devicesNow.devices.allSatisfy { $0.power == "failed" && !$0.holders.isEmpty }
      }
      #expect(isFailing, "\(hub.devicesNow)")
      watch.send(SIGINT)
      watch.wait()
      #expect(eventually { hub.devicesNow.devices.allSatisfy(\.holders.isEmpty) })
    }
    // The first visit starts threads that stay.
    visit()
    #expect(eventually { !["gps", "air", "imu", "mag"].contains(where: hub.hasThread) })
    let before = hub.resources
    for _ in 0..<10 { visit() }
    #expect(
      eventually { zip(hub.resources, before).allSatisfy { $0 <= $1 } }, "\(before) became \(hub.resources)")
    #expect(hub.stop() == 0)
  }

  @Test func `visits in which a reader hangs leak no thread and no descriptor, and do not delay the end`() throws {
    let hub = HubProcess(board: HubProcess.simulatedBoard(""), ["--no-journal-state"])
    hub.watch(["--once"]).wait()
    #expect(hub.comesToRest())
    // The first hang starts threads that stay.
    var before: [Int] = []
    for visit in 0..<4 {
      if visit == 1 { before = hub.resources }
      let watch = hub.watch()
      #expect(hub.shows("imu", "tracking"))
      let reader = try #require(HeldThread("imu", of: hub.program))
      #expect(
        eventually { hub.devicesNow["imu"].power == "failed" && hub.devicesNow["imu"].reason.contains("hangs") },
        "\(hub.devicesNow["imu"])")
      if visit % 2 == 0 {
        // The device continues while a client needs it, and is started again.
        reader.letGo()
        #expect(hub.shows("imu", "tracking"))
      }
      watch.send(SIGINT)
      watch.wait()
      reader.letGo()
      let isOver = eventually {
        let devices = hub.devicesNow
        return ["off", "failed"].contains(devices["imu"].power) && devices["imu"].holders.isEmpty
          && devices["gps"].power == "off" && !hub.hasThread("imu")
      }
      #expect(isOver, "\(hub.devicesNow)")
    }
    #expect(
      eventually { zip(hub.resources, before).allSatisfy { $0 <= $1 } }, "\(before) became \(hub.resources)")
    let watch = hub.watch()
    #expect(hub.shows("imu", "tracking"))
    let reader = try #require(HeldThread("imu", of: hub.program))
    // The hub ended by itself and was not killed by the test.
    #expect(hub.stop() >= 0, "\(hub.program.standardError)")
    watch.wait()
    withExtendedLifetime(reader) {}
  }

  private static let simulatedIMU = """
    imu: { driver: "mpu-6050", bus: "simulated/i2c",
      power: { switch: "gpio", chip: "simulated", line: "imu-power" } }
    """

  @Test func `watch once waits for a position, prints one state and ends`() {
    let hub = HubProcess(["--no-journal-state"])
    // The interval is longer than the wait, but the first state comes at once.
    let watch = hub.watch(["--once", "--json", "--rate", "0.01"])
    #expect(watch.wait() == 0)
    #expect(watch.lines.count == 1)
    #expect(watch.standardOutput.contains(#""position":{"#))
    #expect(hub.stop() == 0)
  }

  @Test func `watch once without a position says so, and prints the rest of the state`() {
    let terminal = PseudoTerminal()
    let hub = HubProcess(
      board: """
        { name: "test", devices: { gps: { driver: "nmea", port: "\(terminal.path)" }, \(HubProcessTests.simulatedIMU) } }
        """)
    // After five seconds the command says what it waits for. Within 15 seconds the hub has an attitude, even on a busy
    // machine.
    let watch = hub.watch(["--once", "--json", "--within", "15"])
    #expect(watch.wait() == 69)
    #expect(watch.lines.count == 1 && watch.standardOutput.contains(#""attitude":{"#), "\(watch.standardOutput)")
    #expect(watch.standardError.contains("waiting for a position: gps is acquiring, "), "\(watch.standardError)")
    #expect(watch.standardError.contains("no position within"), "\(watch.standardError)")
    let any = hub.watch(["--once", "--within", "0"])
    #expect(any.wait() == 0 && any.lines.count == 1)
    #expect(hub.stop() == 0)
  }

  @Test func `watch once on a board without a receiver does not wait for a position`() {
    let hub = HubProcess(board: "{ name: \"test\", devices: { \(HubProcessTests.simulatedIMU) } }")
    let watch = hub.watch(["--once"])
    #expect(watch.wait() == 0 && watch.lines.count == 1)
    #expect(hub.stop() == 0)
  }

  @Test func `a command that cannot write its output ends with an error`() {
    let hub = HubProcess(["--no-journal-state"])
    let board = SharedData.packageFolder + "/boards/raspberry-pi-5.json5"
    for command in [
      "watch --once --within 0 --socket \(hub.socket)", "watch --json --socket \(hub.socket)",
      "devices --socket \(hub.socket)", "devices --json --socket \(hub.socket)", "check \(board)",
    ] {
      let program = Program(["-c", "exec \(Program.sensorhub) \(command) >/dev/full"], path: "/bin/sh")
      #expect(program.wait() == 74, "\(command)")
      #expect(program.standardError.contains("cannot be written: No space left on device"), "\(program.standardError)")
    }
    // A reader may leave at any time.
    let quitter = Program(["-c", "\(Program.sensorhub) devices --socket \(hub.socket) | true"], path: "/bin/bash")
    #expect(quitter.wait() == 0 && quitter.standardError.isEmpty)
    #expect(hub.stop() == 0)
  }

  @Test func `a second hub on the same socket reports the first one`() {
    let hub = HubProcess(["--no-journal-state"])
    let second = Program(["run", "--socket", hub.socket])
    #expect(second.wait() == 69)
    #expect(second.standardError.contains("another hub is running"))
    #expect(hub.devices.devices.count == 5)
    #expect(hub.stop() == 0)
  }

  @Test func `a socket that a killed hub left behind causes no error`() {
    let hub = HubProcess(["--no-journal-state"])
    #expect(hub.stop(SIGKILL) == -SIGKILL)
    #expect(access(hub.socket, F_OK) == 0)
    let next = Program(["run", "--no-journal-state", "--socket", hub.socket])
    #expect(next.logs("state on \(hub.socket)"))
    #expect(hub.devices.devices.count == 5)
    next.send(SIGTERM)
    #expect(next.wait() == 0)
  }

  @Test(.enabled(if: SharedData.isWanted, "left out by SKIP=recordings"), arguments: ["bu353s4", "haicom-305N"])
  func `a receiver's log played through a pseudo-terminal gives states with the log's positions and times`(
    _ log: String
  ) throws {
    let terminal = PseudoTerminal()
    // The board has a real receiver and a simulated IMU.
    let hub = HubProcess(
      board: """
        { name: "mixed",
          devices: { gps: { driver: "nmea", port: "\(terminal.path)", power: { lingerSeconds: 0 } },
            imu: { driver: "mpu-6050", bus: "simulated/i2c",
            power: { switch: "gpio", chip: "simulated", line: "imu-power", lingerSeconds: 0 } } } }
        """)
    let watch = hub.watch(["--json", "--rate", "1000"])
    // A position stays valid for some seconds, and the attitude must come within them.
    #expect(watch.prints("\"attitude\":{") && hub.logs("gps: acquiring"))
    let folder = try #require(SharedData.folder) + "/nmea/\(log).log"
    terminal.write(SharedData.read(folder))
    let decode = Program(["decode", folder])
    decode.wait()
    let expected = decode.lines.filter {
      $0.contains(#""class":"TPV""#) && $0.contains(#""mode":3"#) && $0.contains(#""lat""#)
    }
    let last = try #require(expected.last)
    func value(_ key: String, in line: String) -> String? {
      line.split(separator: "\"\(key)\":").dropFirst().first.map {
        String($0.prefix { $0 != "," && $0 != "}" && $0 != "\"" })
      }
    }
    let latitude = try #require(value("lat", in: last))
    // The time is that of the fix. Its day may have been carried forward by whole weeks.
    let time = try #require(last.split(separator: "\"time\":\"").last).prefix(24).suffix(14)
    #expect(
      watch.prints { $0.contains { $0.contains("\"lat\":\(latitude)") && $0.contains("\(time)\"") } },
      "no state at \(latitude) \(time); the last one: \(watch.lines.last ?? "none")")
    // The simulated IMU drives elsewhere: its attitude appears with the receiver's position, and is not fused with it.
    #expect(
      HubProcess.states(watch).contains { $0.mode == "gnss" && $0.position?.source == "gps" && $0.attitude != nil })
    watch.send(SIGINT)
    watch.wait()
    #expect(hub.stop() == 0)
  }

  @Test func `noise on the line is counted, and a receiver that disappears and comes back is read again`() {
    let first = PseudoTerminal()
    let link = "/tmp/sensorhub-test-gps-\(getpid())"
    unlink(link)
    symlink(first.path, link)
    defer { unlink(link) }
    let hub = HubProcess(
      board: #"{ name: "x", devices: { gps: { driver: "nmea", port: "\#(link)", power: { lingerSeconds: 0 } } } }"#)
    let watch = hub.watch()
    #expect(hub.logs("gps: acquiring"))
    first.write(
      (0..<512).map { UInt8($0 & 0xFF) } + Array("$GPGGA,torn$GPRMC,,V,,,,,,,,,,N*53\r\n$GPRMC,1*00\r\n".utf8))
    // The receiver has been silent since, so it is given up after ten seconds. One look shows both that and its earlier
    // output.
    #expect(
      eventually {
        let gps = hub.devicesNow["gps"]
        return gps.counters["badChecksum", default: 0] > 0 && gps.counters["truncated", default: 0] > 0
          && gps.power == "acquiring"
      })
    first.hangUp()
    #expect(hub.logs("gps: failed: serial port"))
    let replacement = PseudoTerminal()
    unlink(link)
    symlink(replacement.path, link)
    var epoch = 0
    #expect(
      eventually {
        // Each epoch is new, at the same place.
        epoch += 1
        let time = "12\(10 + epoch / 50 % 50)\(10 + epoch % 50).00"
        replacement.writeNow(nmeaLine("GPGGA,\(time),5231.0000,N,01322.0000,E,1,08,0.9,40.0,M,40.0,M,,"))
        return hub.devicesNow["gps"].power == "tracking"
      }, "\(hub.program.standardError)")
    watch.send(SIGINT)
    watch.wait()
    #expect(hub.stop() == 0)
  }

  @Test func `SIGTERM right after SIGHUP ends the hub with the power off`() {
    let hub = HubProcess()
    #expect(hub.logs("imu: tracking"))
    for _ in 0..<3 { hub.program.send(SIGHUP) }
    #expect(hub.stop() == 0)
    #expect(hub.program.standardError.contains("all power lines are off"))
  }

  @Test func `SIGHUP reads the board file again, and an invalid one changes nothing`() {
    let board =
      #"{ name: "one", devices: { imu: { driver: "mpu-6050", bus: "simulated/i2c", "#
      + #"power: { switch: "gpio", chip: "simulated", line: "imu-power", lingerSeconds: 0 } } } }"#
    let hub = HubProcess(board: board)
    let watch = hub.watch()
    #expect(watch.prints("\"mode\":\"attitude\""))
    HubProcess.write(#"{ name: "two", devices: { imu: 5 } }"#, to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(hub.logs("the hub keeps the old one"))
    #expect(hub.devices["imu"].power == "tracking")
    HubProcess.write(board.split(separator: "one").joined(separator: "two"), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(hub.logs("board 'two' reloaded"))
    // The watch continues with the new hub's devices.
    let before = watch.lines.count
    #expect(watch.prints { $0.count > before + 20 })
    #expect(hub.devicesNow["imu"].power == "tracking")
    watch.send(SIGINT)
    watch.wait()
    #expect(hub.stop() == 0)
  }

  @Test func `a reload leaves unchanged devices alone, including their energy logs`() {
    func board(_ name: String, gps: String = "", imu: String = "") -> String {
      """
      { name: "\(name)", devices: {
          gps: { driver: "nmea", port: "simulated/gps", \(gps)
            power: { switch: "gpio", chip: "simulated", line: "gps-power", lingerSeconds: 0 } },
          imu: { driver: "mpu-6050", bus: "simulated/i2c", \(imu)
            power: { switch: "gpio", chip: "simulated", line: "imu-power", lingerSeconds: 0 } } } }
      """
    }
    func reload(_ name: String, gps: String = "", imu: String = "") {
      HubProcess.write(board(name, gps: gps, imu: imu), to: hub.boardFile)
      hub.program.send(SIGHUP)
      #expect(hub.logs("board '\(name)' reloaded"))
    }
    let hub = HubProcess(board: board("one"))
    let watch = hub.watch()
    #expect(hub.logs("gps: tracking") && hub.logs("imu: tracking"))
    let before = hub.devicesNow
    // The position of the antenna does not affect how the receiver is read.
    reload("two", gps: "leverArmMetres: [1, 0, 0],")
    let after = hub.devicesNow
    #expect(after.devices.map(\.power) == ["tracking", "tracking"] && after.devices.map(\.wakes) == [1, 1])
    #expect(after["gps"].counters["sentences", default: 0] >= before["gps"].counters["sentences", default: 0])
    #expect(after["gps"].onSeconds >= before["gps"].onSeconds)
    // The watch continues with the new hub's states.
    #expect(after.devices.allSatisfy { $0.holders.count == 1 })
    let lines = watch.lines.count
    #expect(eventually { watch.lines.count > lines + 20 })
    #expect(!hub.program.standardError.contains("gps: off"), "\(hub.program.standardError)")
    // Only the device with changed settings restarts.
    reload("three", gps: "leverArmMetres: [1, 0, 0],", imu: "rateHz: 100,")
    #expect(eventually { hub.devicesNow["imu"].wakes == 2 && hub.devicesNow["imu"].power == "tracking" })
    #expect(hub.devicesNow["gps"].wakes == 1 && hub.devicesNow["gps"].onSeconds >= after["gps"].onSeconds)
    // The hub itself continues.
    #expect(hub.logs("imu: off ("), "\(hub.program.standardError)")
    #expect(!hub.program.standardError.contains("the hub is shutting down"), "\(hub.program.standardError)")
    // The device's energy account continues, with one more wake.
    let last = hub.devicesNow["imu"]
    #expect(last.wakes == 2 && last.onSeconds >= after["imu"].onSeconds)
    watch.send(SIGINT)
    watch.wait()
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `a hub that starts while another one runs reports this`() {
    let first = HubProcess(board: "{ name: \"first\" }")
    let folder = first.socket.split(separator: "/").dropLast().map { "/\($0)" }.joined()
    // The second hub uses the usual socket.
    let second = HubProcess(board: "{ name: \"second\" }", environment: ["RUNTIME_DIRECTORY=\(folder)"])
    #expect(second.logs("warning: another hub is running at \(first.socket): "))
    #expect(second.stop() == 0)
    #expect(first.stop() == 0)
  }

  /// A message about lines that do not exist or cannot be driven would be false.
  @Test func `a line that could not be switched is not reported as off`() {
    let chip = "{ driver: \"mpu-6050\", bus: \"simulated/i2c\""
    func lastLine(_ imu: String) -> String {
      let hub = HubProcess(board: "{ name: \"x\", devices: { imu: \(imu) } }")
      #expect(hub.logs("board 'x', state on"))
      #expect(hub.stop() == 0)
      return hub.program.standardError.split(separator: "\n").last.map(String.init) ?? ""
    }
    #expect(lastLine("\(chip) }").hasSuffix("stopped; the board has no power lines"))
    let power = "power: { switch: \"gpio\", chip: \"no-such-chip\", line: \"imu-power\" }"
    let undriven = lastLine("\(chip), \(power) }")
    #expect(
      undriven.hasSuffix("stopped; the power lines of imu could not be driven, and all others are off"),
      "\(undriven)")
    // A missing chip is not a line in use by others.
    let hub = HubProcess(board: "{ name: \"x\", devices: { imu: \(chip), \(power) } } }")
    #expect(hub.logs("board 'x', state on"))
    #expect(hub.stop() == 0)
    let wrong = Program(["safe", hub.boardFile, "--socket", hub.socket])
    #expect(wrong.wait() == 69)
    #expect(
      wrong.standardError.contains("imu: it cannot be switched off: there is no GPIO chip 'no-such-chip'")
        && !wrong.standardError.contains("belongs to a running hub"), "\(wrong.standardError)")
    let absent = HubProcess(board: "{ name: \"x\", devices: { imu: { driver: \"mpu-6050\", bus: \"/dev/i2c-99\" } } }")
    #expect(absent.logs("board 'x', state on"))
    #expect(absent.stop() == 0)
    let safe = Program(["safe", absent.boardFile, "--socket", absent.socket])
    #expect(safe.wait() == 0, "\(safe.standardError)")
    #expect(
      safe.standardOutput.hasSuffix(": there are no power lines; missing, so not put to sleep: imu\n"),
      "\(safe.standardOutput)")
  }

  @Test func `safe knows the devices of a killed hub, even if the board file has changed`() {
    let board = "{ name: \"one\", devices: { \(HubProcessTests.simulatedIMU) } }"
    let hub = HubProcess(board: board)
    func safe(_ arguments: [String] = []) -> Program {
      let program = Program(["safe", "--socket", hub.socket] + arguments)
      program.wait()
      return program
    }
    let watch = hub.watch()
    #expect(hub.logs("imu: tracking"))
    let refused = safe()
    #expect(refused.wait() == 69 && refused.standardError.contains("a hub is running"), "\(refused.standardError)")
    #expect(hub.devicesNow["imu"].power == "tracking")
    #expect(hub.stop(SIGKILL) == -SIGKILL)
    watch.wait()
    HubProcess.write("{ name: \"another\" }", to: hub.boardFile)
    let done = safe([hub.boardFile])
    #expect(done.wait() == 0, "\(done.standardError)")
    // The file exists only when there is something to do.
    let again = safe()
    #expect(again.wait() == 66 && again.standardError.contains("no hub has left anything on"), "\(again.standardError)")
    // An unreadable file is kept, and named, until a person has checked it.
    let copy = hub.socket.replacing("hub.sock", with: "board-in-use.json5")
    HubProcess.write("{", to: copy)
    let unknown = safe()
    #expect(unknown.wait() == 69 && unknown.standardError.contains("remove \(copy).left"), "\(unknown.standardError)")
    #expect(safe([hub.boardFile]).wait() == 69)
    unlink(copy + ".left")
    #expect(safe([hub.boardFile]).wait() == 0)
    // A hub that ends normally leaves nothing to clean up.
    let next = HubProcess(board: board)
    #expect(next.isOff)
    #expect(next.stop() == 0)
    let nothing = Program(["safe", "--socket", next.socket])
    #expect(nothing.wait() == 66)
  }

  @Test func `several boards whose lines could not be driven low are all remembered`() {
    let folder = TemporaryFolder("left-over")
    let copy = folder.path + "/board-in-use.json5"
    var known: [String] = []
    for chip in ["gone-1", "gone-2", "gone-3"] {
      // The file is a leftover of a killed hub.
      HubProcess.write(
        """
        { name: "old", devices: { imu: { driver: "mpu-6050", bus: "simulated/i2c",
            power: { switch: "gpio", chip: "\(chip)", line: "imu-power" } } } }
        """, to: copy)
      known.append(chip)
      // The lines of this board are named, and those of the earlier boards too.
      let safe = Program(["safe", "--socket", folder.path + "/hub.sock"])
      #expect(safe.wait() == 69, "\(safe.standardError)")
      #expect(known.allSatisfy(safe.standardError.contains), "\(safe.standardError)")
    }
  }
}
