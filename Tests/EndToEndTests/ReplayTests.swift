import Glibc
import HardwareIO
import MCAP
import TestSupport
import Testing

/// `sensorhub replay`: the hub on a recording.
@Suite(.serialized, .timeLimit(.minutes(10))) final class ReplayTests {
  private let temporary = TemporaryFolder("replay")
  private var folder: String { temporary.path }

  private var recordings: String { folder + "/recordings" }

  /// A board with all kinds of devices, each with its own power rail.
  private func board(_ sections: String) -> String {
    func power(_ line: String) -> String {
      "power: { switch: \"gpio\", chip: \"simulated\", line: \"\(line)\", settleMilliseconds: 20, lingerSeconds: 0.2 }"
    }
    return """
      { name: "test", motion: "vehicle",
        devices: { gps: { driver: "nmea", port: "simulated/gps", \(power("gps-power")) },
          imu: { driver: "mpu-6050", bus: "simulated/i2c", rateHz: 200, \(power("imu-power")) },
          mag: { driver: "lis3mdl", bus: "simulated/i2c", \(power("mag-power")) },
          baro: { driver: "bme280", bus: "simulated/i2c", \(power("baro-power")) },
          meter: { driver: "ina226", bus: "simulated/i2c" } },
        record: { path: "\(recordings)", syncSeconds: 0.5 }, \(sections) }
      """
  }

  /// Records two visits to a hub, with everything off in between. Returns the states of the recording. A client may
  /// have seen one more, because client and recording each keep their own rate.
  private func recordTwoVisits(_ sections: String = "", between: (HubProcess) -> Void = { _ in }) throws -> [String] {
    let hub = HubProcess(board: board(sections))
    for visit in 0..<2 {
      if visit == 1 { between(hub) }
      receiveStates(of: hub, stateCount: 45)
      #expect(hub.comesToRest())
    }
    #expect(hub.stop() == 0)
    return try recordedStates()
  }

  /// Watches until more than a number of states have come, and the last one was fused.
  private func receiveStates(of hub: HubProcess, stateCount: Int = 25) {
    let watch = Program(["watch", "--socket", hub.socket, "--json"])
    #expect(watch.prints { $0.count > stateCount && $0.last?.contains("\"fused\"") == true })
    watch.send(SIGINT)
    watch.wait()
  }

  private func recordedStates() throws -> [String] {
    try Files.names(in: recordings).sorted().flatMap { try Recorded("\(recordings)/\($0)").texts("/state") }
  }

  private func replay(_ arguments: [String]) -> Program {
    let program = Program(["replay"] + arguments)
    #expect(program.wait() == 0, "\(program.standardError)")
    #expect(program.standardError.isEmpty, "\(program.standardError)")
    return program
  }

  /// Finds each recorded state in a replay, byte for byte. The replay has more states, because the recorded ones have a
  /// limited rate.
  private func expectReplayed(_ live: [String]) {
    let replayed = Set(replay([recordings, "--rate", "max", "--state-rate", "all"]).lines)
    let different = live.filter { !replayed.contains($0) }
    #expect(different.isEmpty, "\(different.count) of \(live.count): \(different.first ?? "")")
    // No two states are of the same instant.
    let stamps = live.compactMap { state in
      state.split(separator: ",").first { $0.hasPrefix("\"monotonic\"") }
    }
    #expect(Set(stamps).count == live.count)
  }

  @Test func `the states of several visits, a reload and a restart are replayed with the times of both runs`() throws {
    let turned = board("").replacing("rateHz: 200", with: "rateHz: 200, mount: [[-1, 0, 0], [0, -1, 0], [0, 0, 1]]")
    // The data recorded before the reload needs the earlier board file.
    let before = try recordTwoVisits { hub in
      HubProcess.write(turned, to: hub.boardFile)
      hub.program.send(SIGHUP)
      #expect(hub.logs("reloaded"))
    }
    #expect(Files.names(in: recordings).count == 1)
    #expect(before.count > 80)
    expectReplayed(before)
    let live = try recordTwoVisits()
    #expect(Files.names(in: recordings).count == 2 && live.count > before.count)
    expectReplayed(live)
  }

  @Test func `a replay lacks a position and a declination that the hub lacked, and starts its estimate where it did`()
    throws
  {
    let port = SocketClient.freePort()
    let hub = HubProcess(board: board("nmea: { port: \(port) }"))
    // The magnetic declination depends on the position, which the hub does not get.
    let first = SocketClient(port: port)
    #expect(first.receives(",A,"))
    first.leave()
    #expect(hub.comesToRest())
    let attitudes = watchAttitudes(hub)
    #expect(attitudes.prints { $0.count > 25 })
    attitudes.send(SIGINT)
    attitudes.wait()
    #expect(hub.comesToRest())
    // From here on the receiver is awake throughout. At first and between the visits no client requests the state.
    let client = SocketClient(port: port)
    #expect(client.receives(",A,"))
    for _ in 0..<2 { receiveStates(of: hub) }
    #expect(hub.stop() == 0)
    let live = try recordedStates()
    #expect(live.count > 60)
    for state in live.dropFirst(3).prefix(18) {
      #expect(state.contains("\"attitude\"") && !state.contains("\"position\""), "\(state)")
    }
    expectReplayed(live)
  }

  @Test func `the state after the position of a lost receiver is too old is in the recording and in its replay`() throws
  {
    let terminal = PseudoTerminal()
    // Another test may get the terminal's number after its end, so the port has a name of its own.
    let port = recordings + "-port"
    #expect(symlink(terminal.path, port) == 0)
    let power = "power: { switch: \"none\", lingerSeconds: 0 }"
    let gps = "gps: { driver: \"nmea\", port: \"\(port)\", speed: 9600, \(power) }"
    let record = "record: { path: \"\(recordings)\", syncSeconds: 0.5 }"
    let hub = HubProcess(board: "{ name: \"test\", devices: { \(gps) }, \(record) }")
    let watch = hub.watch()
    #expect(hub.shows("gps", "acquiring"))
    for second in 10...11 {
      terminal.write(nmeaLine("GPRMC,1200\(second).00,A,5231.0000,N,01322.0000,E,1.0,45.0,211126,,,A"))
    }
    #expect(watch.prints { $0.contains { $0.contains("\"mode\":\"gnss\"") } })
    unlink(port)
    terminal.hangUp()
    // Five seconds later the position is too old.
    #expect(watch.prints { $0.contains { $0.contains("\"mode\":\"none\"") } }, "\(hub.program.standardError)")
    watch.send(SIGINT)
    watch.wait()
    #expect(hub.stop() == 0)
    let live = try recordedStates()
    #expect(live.last?.contains("\"mode\":\"none\"") == true, "\(live)")
    expectReplayed(live)
  }

  private func watchAttitudes(_ hub: HubProcess) -> Program {
    Program(["watch", "--socket", hub.socket, "--json", "--parts", "attitude,heading"])
  }

  @Test
  func `a replay continues from the values of devices in their idle timeout, with the parts that clients requested`()
    throws
  {
    let hub = HubProcess(board: board("").replacing("lingerSeconds: 0.2", with: "lingerSeconds: 60"))
    for _ in 0..<3 {
      receiveStates(of: hub)
      #expect(hub.shows("gps", "lingering"))
    }
    // The receiver in its idle timeout does not affect an attitude.
    let attitudes = watchAttitudes(hub)
    #expect(attitudes.prints { $0.count > 25 })
    for visit in 0..<8 {
      let positions = Program(["watch", "--socket", hub.socket, "--json", "--parts", "position"])
      #expect(positions.prints { $0.last?.contains("\"position\"") == true })
      positions.send(SIGINT)
      positions.wait()
      let count = attitudes.lines.count
      #expect(attitudes.prints { $0.count > count + visit })
    }
    attitudes.send(SIGINT)
    attitudes.wait()
    #expect(hub.stop() == 0)
    let live = try recordedStates()
    #expect(live.count > 100)
    // The position is there only while a client requests it.
    let alone = live.count { $0.contains("\"attitude\"") && !$0.contains("\"position\"") }
    #expect(alone >= 20 && live.last?.contains("\"attitude\"") == true)
    expectReplayed(live)
  }

  @Test func `a recording is replayed with the same bytes each time, with another board, as tables and to clients`()
    throws
  {
    let port = SocketClient.freePort()
    _ = try recordTwoVisits("http: { port: \(port) }")
    try expectSameBytes()
    try expectSameTables()
    try expectServed(on: port)
  }

  /// Replaying a recording twice gives the same bytes, and with another board different ones.
  private func expectSameBytes() throws {
    let first = replay([recordings, "--rate", "max"]).standardOutput
    #expect(first == replay([recordings, "--rate", "max"]).standardOutput)
    let turned = folder + "/turned.json5"
    HubProcess.write(
      board("").replacing("rateHz: 200", with: "rateHz: 200, mount: [[-1, 0, 0], [0, -1, 0], [0, 0, 1]]"), to: turned)
    let other = replay([recordings, "--rate", "max", "--board", turned]).standardOutput
    #expect(other != first && other.count > first.count / 2)
    // The reader chooses its own rate.
    let slow = replay([recordings, "--rate", "max", "--state-rate", "1"]).lines.count
    let quick = replay([recordings, "--rate", "max", "--state-rate", "10"]).lines.count
    #expect(slow >= 5 && (quick / 20...quick / 5).contains(slow), "\(slow) and \(quick)")
  }

  /// The fusion of a recording gives the same result as that of its exported tables.
  private func expectSameTables() throws {
    func exported(_ format: String) -> String {
      let path = "\(folder)/\(format).csv"
      let program = Program(["export", recordings, "--format", format, "--output", path])
      #expect(program.wait() == 0, "\(program.standardError)")
      return path
    }
    func fused(_ imu: String, _ gnss: String) -> [String] {
      let program = Program(["fuse", "--imu", imu, "--gnss", gnss, "--vehicle"])
      #expect(program.wait() == 0, "\(program.standardError)")
      return program.lines
    }
    for format in ["imu-csv", "gnss-csv"] {
      let other = Program(["export", recordings, "--format", format, "--device", "sonar"])
      #expect(other.wait() == 65)
      #expect(other.standardError.contains("no data of a device 'sonar'"), "\(other.standardError)")
      #expect(other.standardError.contains("next: valid ones are "), "\(other.standardError)")
    }
    let tables = fused(exported("imu-csv"), exported("gnss-csv"))
    let recording = fused(recordings, recordings)
    #expect(recording.count > 200 && recording.contains { $0.hasSuffix(",fused") })
    #expect(tables == recording)
  }

  /// Clients of a replay see a hub at the requested speed, and it ends with the recording.
  private func expectServed(on port: UInt16) throws {
    let socket = folder + "/replay.sock"
    // The replay is so slow that three programs end long before it does.
    let program = Program(["replay", recordings, "--rate", "0.2", "--socket", socket])
    #expect(FileChanges.wait(in: folder) { access(socket, F_OK) == 0 })
    let watch = Program(["watch", "--socket", socket, "--json"])
    #expect(watch.prints("\"fused\""))
    // On a busy machine the hub may not have received the program's name yet.
    var listing = ""
    let isNamed = eventually {
      let devices = Program(["devices", "--verbose", "--socket", socket])
      guard devices.wait() == 0 else { return false }
      listing = devices.standardOutput
      return listing.contains("watch[\(watch.pid)]")
    }
    #expect(isNamed && listing.contains("imu: recorded imu"), "\(listing)")
    let record = Program(["record", "--socket", socket, "--for", "1", "--output", folder + "/again.mcap"])
    #expect(
      record.wait() != 0 && record.standardError.contains("a replay cannot be recorded"), "\(record.standardError)")
    #expect(program.isRunning, "\(program.standardError)")
    let answer = HTTPAnswer(port, "POST", "/replay?rate=1000")
    #expect(answer.status == 200, "\(answer.head) \(answer.body)")
    #expect(program.wait() == 0, "\(program.standardError)")
    #expect(program.standardError.contains("end of the recording"))
    watch.wait()
  }

  @Test func `a log is replayed by the times in it`() throws {
    let log = folder + "/log.nmea"
    // The log runs from two seconds before midnight to two after, with five reports a second.
    let lines = (0..<20).map { index -> String in
      let tenths = 863_980 + 2 * index
      let second = tenths / 10 % 86400
      let time = "\(padded(second / 3600))\(padded(second / 60 % 60))\(padded(second % 60)).\(tenths % 10)"
      let date = tenths < 864_000 ? "281126" : "291126"
      return sentence("GPRMC,\(time),A,5231.\(100 + index),N,01323.000,E,10.0,90.0,\(date),,,A")
    }
    HubProcess.write("noise\r\n" + lines.joined(separator: "\r\n") + "\r\n", to: log)
    let states = replay([log, "--rate", "max", "--state-rate", "all"]).lines
    #expect(states.count == 20)
    for index in 0..<20 {
      let expected = String("\(52 + (31.1 + Double(index) / 1000) / 60)".prefix(9))
      #expect(states[index].contains("\"lat\":\(expected)"), "\(states[index])")
      #expect(states[index].contains("\"time\":\"2026-11-2\(index < 10 ? 8 : 9)T"), "\(states[index])")
    }
  }

  private func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  private func sentence(_ body: String) -> String {
    let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
    return "$\(body)*\(sum.count == 1 ? "0" : "")\(sum)"
  }

  @Test func `a recording in an older format is reported, and not replayed`() throws {
    let path = folder + "/older.mcap"
    var writer = try MCAPWriter(try MCAPFileSink(path: path))
    try writer.add(MCAPMetadata(name: "board", entries: ["file": board("")]))
    try writer.add(MCAPMetadata(name: "sensorhub", entries: ["version": "0.1.7"]))
    let channel = try writer.addChannel(topic: "/receiver/gps/raw", messageEncoding: "nmea0183")
    try writer.append([], channelID: channel, logTimeNanoseconds: 1_795_860_000_000_000_000)
    try writer.finish()
    let program = Program(["replay", path, "--rate", "max"])
    #expect(program.wait() == 65)
    let said = program.standardError
    #expect(said.contains("'\(path)' has an older format") && said.contains("sensorhub 0.1.7"), "\(said)")
    let info = Program(["info", path])
    #expect(info.wait() == 0 && info.standardOutput.contains("  format    older"), "\(info.standardOutput)")
    let json = Program(["info", "--json", path])
    #expect(json.wait() == 0 && json.standardOutput.contains("\"replayable\":false"), "\(json.standardOutput)")
  }

  @Test func `a recording that cannot be replayed is reported with the next step`() {
    func refused(_ arguments: [String], _ code: Int32, _ text: String) {
      let program = Program(["replay"] + arguments)
      #expect(program.wait() == code, "\(arguments)")
      #expect(program.standardError.contains(text), "\(program.standardError)")
    }
    refused(["/nowhere/x.mcap"], 66, "there is no file '/nowhere/x.mcap'")
    refused([folder], 66, "there is no recording in the folder")
    let text = folder + "/text"
    HubProcess.write("nothing that a receiver says\n", to: text)
    refused([text], 65, "'\(text)' contains no time")
    refused([text, text], 64, "give one log without other files")
    refused([text, "--from", "10:00"], 64, "--from and --to need a recording")
    refused([text, "--rate", "0"], 64, "--rate")
    refused([text, "--rate", "max", "--stay"], 64, "--stay and --socket cannot be combined with --rate max")
    refused([text, "--state-rate", "1"], 64, "--state-rate needs --rate max")
  }
}
