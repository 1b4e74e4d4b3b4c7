import CLinux
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

  /// Blocks until the recording meets a condition, which is checked again after each write.
  private func records(_ isMet: (Recorded) -> Bool) -> Bool {
    FileChanges.wait(in: folder) { recorded.map { isMet($0) } ?? false }
  }

  private func recordsStates(_ count: Int) -> Bool { records { $0.count("/state") >= count } }

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
    let program = record(hub, ["--for", "0.05m"])
    let name = "record[\(program.pid)]"
    #expect(program.wait() == 0, "\(program.standardError)")
    #expect(recordedSeconds(program.standardOutput).map { (3..<60).contains($0) } == true, "\(program.standardOutput)")
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
    for id in ["gps", "imu"] {
      let isHeld = file.texts("/power").contains {
        $0.contains("\"id\":\"\(id)\"") && $0.contains("\"holders\":[\"\(name)\"]")
      }
      #expect(isHeld, "\(file.texts("/power"))")
    }
    #expect(file.metadata.first { $0.name == "board" }?.entries["file"] == board)
    #expect(file.metadata.first { $0.name == "sensorhub" }?.entries["version"] == "0.2.0")
    // The hub itself makes no recording.
    let info = Program(["info", path])
    #expect(info.wait() == 0 && info.standardOutput.contains("state     whole"))
    #expect(hub.stop() == 0)
  }

  @Test func `Ctrl-C completes a recording of some parts, and an existing file is only replaced with force`() throws {
    let hub = HubProcess(board: board)
    let program = record(hub, ["--parts", "attitude"])
    #expect(records { $0.count("/imu/imu/batch") > 5 })
    // Only the devices for these parts are awake.
    #expect(hub.devicesNow["imu"].holders == ["record[\(program.pid)] (attitude)"])
    #expect(hub.devicesNow["gps"].wakes == 0)
    program.send(SIGINT)
    #expect(program.wait() == 0, "\(program.standardError)")
    try check()
    #expect(try Recorded(path).count("/receiver/gps/raw") == 0)
    let count = try Recorded(path).count("/imu/imu/batch")
    let refused = record(hub, ["--for", "1"])
    #expect(refused.wait() == 66 && refused.standardError.contains("already"), "\(refused.standardError)")
    #expect(try Recorded(path).count("/imu/imu/batch") == count)
    let forced = record(hub, ["--observe", "--for", "1", "--force"])
    #expect(forced.wait() == 0, "\(forced.standardError)")
    try check()
    #expect(Files.names(in: folder) == ["drive.mcap"])
    #expect(hub.stop() == 0)
  }

  @Test func `a second Ctrl-C does not wait for a hub that does not answer`() {
    let hub = HubProcess(board: board)
    let program = record(hub)
    #expect(recordsStates(5))
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
    #expect(records { _ in true })
    #expect(hub.isOff)
    let client = SocketClient(path: hub.socket)
    #expect(recordsStates(5))
    #expect(hub.devicesNow["gps"].holders.allSatisfy { !$0.hasPrefix("record") })
    client.leave()
    #expect(hub.comesToRest())
    #expect(hub.devicesNow["gps"].wakes == 1 && hub.devicesNow["imu"].wakes == 1)
    // The hub has room for three other recordings.
    let others = (0..<3).map { _ in SocketClient(path: socket(hub)) }
    for other in others {
      other.send("{\"wakes\": false}\n")
      // The answer is the beginning of a recording.
      #expect(other.receives("MCAP0"))
    }
    let fifth = Program(["record", "--socket", hub.socket, "--output", folder + "/fifth.mcap", "--for", "1"])
    #expect(fifth.wait() == 69)
    #expect(
      fifth.standardError.contains("no recording: there are 4 already, the maximum"), "\(fifth.standardError)")
    #expect(Files.names(in: folder) == ["drive.mcap"])
    program.send(SIGTERM)
    #expect(program.wait() == 0, "\(program.standardError)")
    try check()
    #expect(hub.stop() == 0)
  }

  @Test func `the recording of a killed hub is repaired`() throws {
    let hub = HubProcess(board: board)
    let program = record(hub)
    #expect(recordsStates(10))
    let before = recorded?.texts("/state") ?? []
    #expect(hub.stop(SIGKILL) != 0)
    #expect(program.wait() == 69)
    #expect(program.standardError.contains("is repaired"), "\(program.standardError)")
    try check()
    #expect(recorded?.texts("/state").starts(with: before) == true)
  }

  @Test func `a full disk is reported and the recording repaired, and a hub that ends completes one first`() throws {
    let hub = HubProcess(board: board)
    let limited = Program(
      [
        "-c", "trap '' XFSZ; ulimit -f 48; exec \"$@\"", "sh", Program.sensorhub, "record", "--socket", hub.socket,
        "--output", path,
      ], path: "/bin/bash")
    #expect(limited.wait() == 74)
    #expect(limited.standardError.contains("'\(path)' cannot be written"), "\(limited.standardError)")
    #expect(limited.standardError.contains("is repaired"), "\(limited.standardError)")
    try check()
    #expect(hasStates(1))
    #expect(hub.comesToRest())
    unlink(path)
    let program = record(hub)
    #expect(recordsStates(5))
    #expect(hub.stop() == 0)
    #expect(program.wait() == 69)
    #expect(program.standardError.contains("the hub ended the recording"), "\(program.standardError)")
    #expect(program.standardError.contains("is complete: "), "\(program.standardError)")
    try check()
    #expect(access(socket(hub), F_OK) != 0)
  }

  @Test func `standard output gets the recording too, and a hub that is too old to record is not reported as missing`()
    throws
  {
    let hub = HubProcess(board: board)
    let program = Program(
      [
        "-c", "\(Program.sensorhub) record --socket \(hub.socket) --observe --for 1 --output - | cat > \(path)",
      ], path: "/bin/bash")
    #expect(program.wait() == 0)
    #expect(recordedSeconds(program.standardError).map { (1..<60).contains($0) } == true, "\(program.standardError)")
    try check()
    unlink(path)
    unlink(socket(hub))
    let other = record(hub)
    #expect(other.wait() == 69)
    #expect(other.standardError.contains("older than this program"), "\(other.standardError)")
    #expect(hub.isOff && hub.devicesNow["gps"].wakes == 0)
    #expect(Files.names(in: folder).isEmpty)
    #expect(hub.stop() == 0)
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
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    #expect(poll(&waiting, 1, 180_000) == 1)
    program.send(SIGTERM)
    #expect(program.wait() == 74)
    #expect(program.standardError.contains("all later data"), "\(program.standardError)")
    #expect(hub.comesToRest())
  }
}
