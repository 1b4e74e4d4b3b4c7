import Glibc
import HardwareIO
import MCAP
import TestSupport
import Testing

/// `sensorhub record`: a recording on request.
@Suite(.serialized, .timeLimit(.minutes(10))) final class RecordTests {
  private let temporary = TemporaryFolder("record")
  private var folder: String { temporary.path }

  private var path: String { folder + "/drive.mcap" }
  private var board: String { HubProcess.simulatedBoard("") }

  private func record(_ hub: HubProcess, _ arguments: [String] = []) -> Program {
    Program(["record", "--socket", hub.socket, "--output", path] + arguments)
  }

  /// The recording's present contents, complete or not; `nil` without a readable file.
  private var recorded: Recorded? { try? Recorded(path) }

  private func hasStates(_ count: Int) -> Bool { recorded.map { $0.count("/state") >= count } ?? false }

  /// The stated duration of the recording, if it is less than a minute; at least the requested one.
  private func recordedSeconds(_ text: String) -> Double? {
    let words = text.split(separator: " ")
    guard words.count > 2, words[0] == "recorded", words[2].hasPrefix("s:") else { return nil }
    return Double(words[1])
  }

  private func check() throws {
    try MCAPReader(path: path).check()
    #expect(try Recorded(path).isWhole)
  }

  private func socket(_ hub: HubProcess) -> String { hub.socket.replacing("hub.sock", with: "record.sock") }

  @Test func `record keeps the devices awake for the requested time, and stores all of it in the file`() throws {
    let hub = HubProcess(board: board)
    // The time suffices on a busy machine to start and check everything.
    let program = record(hub, ["--for", "0.3m"])
    let name = "record[\(program.pid)]"
    #expect(eventually { ["gps", "imu"].allSatisfy { hub.devicesNow[$0].holders == [name] } })
    #expect(program.wait() == 0, "\(program.standardError)")
    #expect(recordedSeconds(program.standardOutput).map { (18..<60).contains($0) } == true, "\(program.standardOutput)")
    #expect(program.lines.last == "  next: sensorhub info \(path)")
    // Without a terminal no progress is shown.
    #expect(program.standardError.isEmpty, "\(program.standardError)")
    #expect(hub.comesToRest())
    try check()
    let file = try Recorded(path)
    for topic in ["/fix", "/imu/imu/batch", "/log", "/power", "/receiver/gps/raw", "/state"] {
      #expect(file.count(topic) > 0, "\(topic)")
    }
    #expect(file.texts("/receiver/gps/raw").allSatisfy { $0.hasPrefix("$") && $0.hasSuffix("\r\n") })
    #expect(file.texts("/power").contains { $0.contains("\"id\":\"gps\"") && $0.contains("\"\(name)\"") })
    #expect(file.metadata.first { $0.name == "board" }?.entries["file"] == board)
    #expect(file.metadata.first { $0.name == "sensorhub" }?.entries["version"] == "0.2.0")
    // The hub itself makes no recording.
    let info = Program(["info", path])
    #expect(info.wait() == 0 && info.standardOutput.contains("state     whole"))
    #expect(hub.stop() == 0)
  }

  @Test func `Ctrl-C completes the recording, and an existing file is only replaced with force`() throws {
    let hub = HubProcess(board: board)
    let program = record(hub)
    #expect(eventually { self.hasStates(5) })
    program.send(SIGINT)
    #expect(program.wait() == 0, "\(program.standardError)")
    try check()
    let bytes = try Recorded(path).count("/state")
    let refused = record(hub, ["--for", "1"])
    #expect(refused.wait() == 66 && refused.standardError.contains("already"), "\(refused.standardError)")
    #expect(try Recorded(path).count("/state") == bytes)
    let forced = record(hub, ["--observe", "--for", "1", "--force"])
    #expect(forced.wait() == 0, "\(forced.standardError)")
    try check()
    #expect(Files.names(in: folder) == ["drive.mcap"])
  }

  @Test func `a second Ctrl-C does not wait for a hub that does not answer`() {
    let hub = HubProcess(board: board)
    let program = record(hub)
    #expect(eventually { self.hasStates(5) })
    #expect(hub.program.halt())
    // Two signals in quick succession count as one, because a person takes longer for two.
    #expect(
      eventually {
        program.send(SIGINT)
        return !program.isRunning
      })
    #expect(program.wait() == 130)
    #expect(program.standardError.contains("has no end record"), "\(program.standardError)")
    #expect(recorded?.isWhole == false && hasStates(5))
    hub.program.send(SIGCONT)
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `record with observe wakes no device, and records the devices that others have woken`() throws {
    let hub = HubProcess(board: board)
    let program = record(hub, ["--observe"])
    // The beginning of the file is written at once.
    #expect(eventually { self.recorded != nil })
    #expect(hub.isOff)
    let client = SocketClient(path: hub.socket)
    #expect(eventually { self.hasStates(5) })
    #expect(hub.devicesNow["gps"].holders.allSatisfy { !$0.hasPrefix("record") })
    client.leave()
    #expect(hub.comesToRest())
    #expect(hub.devicesNow["gps"].wakes == 1 && hub.devicesNow["imu"].wakes == 1)
    program.send(SIGTERM)
    #expect(program.wait() == 0, "\(program.standardError)")
    try check()
  }

  @Test func `the recording of a board without devices is empty and complete`() throws {
    let hub = HubProcess(board: "{ name: \"empty\" }")
    let program = record(hub, ["--for", "1s"])
    #expect(program.wait() == 0, "\(program.standardError)")
    try check()
    #expect(try Recorded(path).metadata.contains { $0.name == "board" })
  }

  @Test func `a recording of some parts wakes only the devices for these`() throws {
    let hub = HubProcess(board: board)
    let program = record(hub, ["--parts", "attitude"])
    #expect(eventually { (self.recorded?.count("/imu/imu/batch") ?? 0) > 5 })
    #expect(hub.devicesNow["imu"].holders == ["record[\(program.pid)] (attitude)"])
    #expect(hub.devicesNow["gps"].wakes == 0)
    program.send(SIGINT)
    #expect(program.wait() == 0, "\(program.standardError)")
    try check()
    #expect(try Recorded(path).count("/receiver/gps/raw") == 0)
  }

  @Test func `at most four recordings run at a time, and a fifth is refused until one has ended`() throws {
    let hub = HubProcess(board: board)
    let clients = (0..<4).map { _ in SocketClient(path: socket(hub)) }
    for client in clients {
      client.send("{\"wakes\": false}\n")
      #expect(eventually { client.bytes.count > 8 })
    }
    let fifth = record(hub, ["--for", "1"])
    #expect(fifth.wait() == 69)
    #expect(
      fifth.standardError.contains("no recording: there are 4 already, the maximum"), "\(fifth.standardError)")
    #expect(Files.names(in: folder).isEmpty)
    #expect(hub.isOff)
    clients[0].leave()
    #expect(eventually { self.record(hub, ["--for", "0.5", "--observe"]).wait() == 0 })
    try check()
    #expect(hub.stop() == 0)
  }

  @Test func `an invalid request is answered, and the connection is closed`() {
    let hub = HubProcess(board: board)
    let client = SocketClient(path: socket(hub))
    client.send("{\"wakes\": \"perhaps\"}\n")
    #expect(eventually { !client.isOpen })
    #expect(client.text.hasPrefix("{\"class\":\"ERROR\",\"message\":\"send one line"), "\(client.text)")
    #expect(client.lineCount == 1)
  }

  @Test func `the recording of a killed hub is repaired`() throws {
    let hub = HubProcess(board: board)
    let program = record(hub)
    #expect(eventually { self.hasStates(10) })
    let before = recorded?.texts("/state") ?? []
    #expect(hub.stop(SIGKILL) != 0)
    #expect(program.wait() == 69)
    #expect(program.standardError.contains("is repaired"), "\(program.standardError)")
    try check()
    #expect(recorded?.texts("/state").starts(with: before) == true)
  }

  @Test func `a hub that ends completes the recording first`() throws {
    let hub = HubProcess(board: board)
    let program = record(hub)
    #expect(eventually { self.hasStates(5) })
    #expect(hub.stop() == 0)
    #expect(program.wait() == 69)
    #expect(program.standardError.contains("the hub ended the recording"), "\(program.standardError)")
    #expect(program.standardError.contains("is complete: "), "\(program.standardError)")
    try check()
    #expect(access(socket(hub), F_OK) != 0)
  }

  @Test func `a recording continues in the same file across a reload, and contains both boards`() throws {
    let hub = HubProcess(board: board)
    let program = record(hub)
    #expect(eventually { self.hasStates(5) })
    let other = board.replacing("\"vehicle\"", with: "\"free\"")
    HubProcess.write(other, to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(hub.logs("reloaded"))
    let states = recorded?.count("/state") ?? 0
    #expect(eventually { self.hasStates(states + 10) })
    #expect(hub.devicesNow["imu"].holders == ["record[\(program.pid)]"])
    program.send(SIGINT)
    #expect(program.wait() == 0, "\(program.standardError)")
    #expect(hub.comesToRest())
    try check()
    let boards = try Recorded(path).metadata.filter { $0.name == "board" }.map { $0.entries["file"] }
    #expect(boards == [board, other])
  }

  @Test func `a full disk is reported, and the recording up to then is repaired`() throws {
    let hub = HubProcess(board: board)
    let program = Program(
      [
        "-c", "trap '' XFSZ; ulimit -f 48; exec \"$@\"", "sh", Program.sensorhub, "record", "--socket", hub.socket,
        "--output", path,
      ], path: "/bin/bash")
    #expect(program.wait() == 74)
    #expect(program.standardError.contains("'\(path)' cannot be written"), "\(program.standardError)")
    #expect(program.standardError.contains("is repaired"), "\(program.standardError)")
    try check()
    #expect(hasStates(1))
    #expect(hub.comesToRest())
  }

  @Test func `standard output gets the recording too, and nothing else`() throws {
    let hub = HubProcess(board: board)
    let program = Program(
      [
        "-c", "\(Program.sensorhub) record --socket \(hub.socket) --observe --for 1 --output - | cat > \(path)",
      ], path: "/bin/bash")
    #expect(program.wait() == 0)
    #expect(recordedSeconds(program.standardError).map { (1..<60).contains($0) } == true, "\(program.standardError)")
    try check()
  }

  @Test func `record ends even if nothing reads its pipe, and reports what is missing`() {
    let hub = HubProcess(board: board)
    let pipe = folder + "/pipe"
    #expect(mkfifo(pipe, 0o600) == 0)
    let descriptor = open(pipe, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    defer { close(descriptor) }
    // The command F_SETPIPE_SZ limits the pipe to a page.
    #expect(fcntl(descriptor, 1031, 4096) == 4096)
    let program = Program(
      ["-c", "exec \(Program.sensorhub) record --socket \(hub.socket) --output - > \(pipe)"], path: "/bin/bash")
    var waiting: Int32 = 0
    #expect(eventually { ioctl(descriptor, UInt(FIONREAD), &waiting) == 0 && waiting > 0 })
    program.send(SIGTERM)
    #expect(program.wait() == 74)
    #expect(program.standardError.contains("all later data"), "\(program.standardError)")
    #expect(hub.comesToRest())
  }

  @Test func `record distinguishes a hub too old to record from no hub`() {
    let hub = HubProcess(board: board)
    unlink(socket(hub))
    let program = record(hub)
    #expect(program.wait() == 69)
    #expect(program.standardError.contains("older than this program"), "\(program.standardError)")
    #expect(hub.isOff && hub.devicesNow["gps"].wakes == 0)
    #expect(Files.names(in: folder).isEmpty)
  }
}
