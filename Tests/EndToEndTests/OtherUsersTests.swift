import Glibc
import HardwareIO
import TestSupport
import Testing

/// The effects that other users of the same machine can have on a hub and its clients, tested with a second user.
@Suite(.serialized, .timeLimit(.minutes(10)), .enabled(if: RootRights.areWanted, "left out by SKIP=root"))
final class OtherUsersTests {
  private let temporary = TemporaryFolder("users")
  private var folder: String { temporary.path }
  private let planted = "/tmp/sensorhub-\(OtherUser.victim)"

  init() throws {
    try RootRights.require()
    chmod(temporary.path, 0o755)
  }

  deinit { TemporaryFolder.remove(planted) }

  // MARK: Planted files

  @Test func `hubs and clients do not use a folder that another user created first`() throws {
    #expect(mkdir(planted, 0o755) == 0 && OtherUser.give(planted))
    // The script sends an answer that a client would believe.
    let script = """
      import socket
      for name in ("hub", "devices"):
        s = socket.socket(socket.AF_UNIX); s.bind("\(planted)/" + name + ".sock"); s.listen(); globals()[name] = s
      print("ready", flush=True)
      while True: hub.accept()[0].send(b'{"class":"STATE","mode":"forged"}\\n')
      """
    let forger = OtherUser.program(["-c", script], path: "/usr/bin/python3", readsAll: false)
    #expect(forger.prints("ready"), "\(forger.standardError)")
    let said = "the folder \(planted) belongs to user \(OtherUser.mallory), who can write anything there"
    for command in [["run"], ["watch", "--once", "--json"], ["devices"], ["safe"], ["release"]] {
      let program = OtherUser.program(command, as: OtherUser.victim)
      #expect(program.wait() == 77, "\(command): \(program.standardError)")
      #expect(program.standardError.contains(said), "\(command): \(program.standardError)")
      #expect(program.standardError.contains("next: check who created it"), "\(program.standardError)")
      #expect(!program.standardOutput.contains("forged"))
    }
    // The folder is as before: no file was made in it.
    #expect(Files.names(in: planted) == ["devices.sock", "hub.sock"])
    forger.send(SIGKILL)
  }

  @Test func `hubs and clients do not use a symbolic link or a world-writable folder in place of their folder`() throws
  {
    #expect(mkdir("\(folder)/target", 0o755) == 0)
    #expect(symlink("\(folder)/target", planted) == 0 && OtherUser.give(planted))
    let linked = OtherUser.program(["run"], as: OtherUser.victim)
    #expect(
      linked.wait() == 77 && linked.standardError.contains("\(planted) is a link of user"), "\(linked.standardError)")
    unlink(planted)
    #expect(mkdir(planted, 0o755) == 0 && OtherUser.give(planted, to: OtherUser.victim) && chmod(planted, 0o777) == 0)
    let open = OtherUser.program(["run"], as: OtherUser.victim)
    #expect(open.wait() == 77 && open.standardError.contains("next: chmod go-w '\(planted)'"), "\(open.standardError)")
    #expect(Files.names(in: planted).isEmpty && Files.names(in: "\(folder)/target").isEmpty)
    // The hub trusts its own folder and makes it private.
    rmdir(planted)
    let hub = OtherUser.program(["run"], as: OtherUser.victim)
    #expect(hub.logs("state on \(planted)/hub.sock\n"), "\(hub.standardError)")
    #expect(OtherUser.mode(of: planted) == 0o700 && OtherUser.mode(of: "\(planted)/hub.sock") == 0o666)
    let watch = OtherUser.program(["watch", "--once", "--json"], as: OtherUser.victim)
    #expect(watch.wait() == 0 && watch.standardOutput.contains("\"mode\":"), "\(watch.standardError)")
    hub.send(SIGTERM)
    #expect(hub.wait() == 0)
    #expect(Files.names(in: planted).isEmpty)
  }

  @Test func `another user cannot make a hub change the mode of a file while it opens its sockets`() throws {
    // Replacing the socket by a link between its creation and its chmod requires write access to the folder.
    let shared = "\(folder)/shared"
    #expect(mkdir(shared, 0o777) == 0 && chmod(shared, 0o1777) == 0)
    HubProcess.write("secret", to: "\(folder)/victim")
    #expect(chmod("\(folder)/victim", 0o600) == 0)
    let swap = "while :; do ln -sfn \(folder)/victim \(shared)/hub.sock~; done"
    let racer = OtherUser.program(["-c", swap], path: "/bin/sh", readsAll: false)
    #expect(FileChanges.wait(in: shared) { OtherUser.mode(of: "\(shared)/hub.sock~") != 0 }, "\(racer.standardError)")
    for _ in 0..<25 {
      let hub = Program(["run", "--socket", "\(shared)/hub.sock"])
      #expect(
        hub.wait() == 77 && hub.standardError.contains("is writable for other users"), "\(hub.standardError)")
    }
    #expect(OtherUser.mode(of: "\(folder)/victim") == 0o600)
    racer.send(SIGKILL)
    // In the hub's own folder an existing link is removed, and its target stays.
    let own = "\(folder)/own"
    #expect(mkdir(own, 0o755) == 0 && symlink("\(folder)/victim", "\(own)/hub.sock~") == 0)
    let hub = Program(["run", "--socket", "\(own)/hub.sock"])
    #expect(hub.logs("state on"), "\(hub.standardError)")
    #expect(OtherUser.mode(of: "\(folder)/victim") == 0o600 && OtherUser.mode(of: "\(own)/hub.sock") == 0o666)
    hub.send(SIGTERM)
    #expect(hub.wait() == 0)
  }

  @Test func `safe does not use another user's record of a board in use`() throws {
    let theirs = "\(folder)/theirs"
    #expect(mkdir(theirs, 0o755) == 0)
    HubProcess.write("{ name: \"theirs\" }", to: "\(theirs)/board-in-use.json5")
    #expect(OtherUser.give("\(theirs)/board-in-use.json5") && OtherUser.give(theirs))
    let safe = Program(["safe", "--socket", "\(theirs)/hub.sock"])
    #expect(safe.wait() == 77 && safe.standardError.contains("belongs to user"), "\(safe.standardError)")
    // A path that root names itself is made safe too.
    HubProcess.write("{ name: \"ours\" }", to: "\(folder)/board.json5")
    let named = Program(["safe", "\(folder)/board.json5", "--socket", "\(theirs)/hub.sock"])
    #expect(named.wait() == 0 && named.standardError.contains("continuing without"), "\(named.standardError)")
    #expect(access("\(theirs)/board-in-use.json5", F_OK) == 0)
    // The path is in root's folder, under a name that another user could once create there.
    let ours = "\(folder)/ours"
    #expect(mkdir(ours, 0o755) == 0)
    HubProcess.write("{ name: \"theirs\" }", to: "\(ours)/board-in-use.json5")
    #expect(OtherUser.give("\(ours)/board-in-use.json5"))
    let file = Program(["safe", "--socket", "\(ours)/hub.sock"])
    #expect(file.wait() == 69 && file.standardError.contains("whom the hub does not trust"), "\(file.standardError)")
  }

  @Test func `root writes no recording or export through another user's link`() throws {
    let theirs = "\(folder)/theirs"
    #expect(mkdir(theirs, 0o755) == 0 && OtherUser.give(theirs))
    HubProcess.write("secret", to: "\(folder)/victim")
    #expect(symlink("\(folder)/victim", "\(theirs)/out.mcap") == 0 && OtherUser.give("\(theirs)/out.mcap"))
    // The path is a device, which is written in place.
    #expect(symlink("/dev/null", "\(theirs)/out.csv") == 0 && OtherUser.give("\(theirs)/out.csv"))
    let hub = HubProcess(board: HubProcess.simulatedBoard(""))
    func record(to path: String) -> Program {
      Program(["record", "--for", "0.5", "--observe", "--force", "--socket", hub.socket, "--output", path])
    }
    let refused = record(to: "\(theirs)/out.mcap")
    #expect(
      refused.wait() == 77 && refused.standardError.contains("is a link that belongs to user"),
      "\(refused.standardError)")
    #expect(try Files.bytes(of: "\(folder)/victim") == Array("secret".utf8))
    // A link of the user's own is followed.
    #expect(symlink("\(folder)/own.mcap", "\(folder)/link.mcap") == 0)
    let own = record(to: "\(folder)/link.mcap")
    #expect(own.wait() == 0, "\(own.standardError)")
    #expect(try Files.bytes(of: "\(folder)/own.mcap").count > 8)
    let export = Program(["export", "\(folder)/own.mcap", "--force", "--output", "\(theirs)/out.csv"])
    #expect(
      export.wait() == 77 && export.standardError.contains("is a link that belongs to user"), "\(export.standardError)")
    #expect(hub.stop() == 0)
  }

  // MARK: Lasting changes

  @Test func `another user may watch but not calibrate, and is told which rights it takes`() throws {
    let hub = HubProcess(board: HubProcess.simulatedBoard(""))
    let refused = OtherUser.program(["calibrate", "gyro", "--socket", hub.socket])
    #expect(refused.wait() == 77, "\(refused.standardError)")
    #expect(
      refused.standardError.contains("you may not calibrate the hub's sensors: this needs root or the group sensorhub"),
      "\(refused.standardError)")
    #expect(refused.standardError.contains("next: sudo sensorhub calibrate gyro"), "\(refused.standardError)")
    #expect(hub.devicesNow["imu"].wakes == 0)
    let watch = OtherUser.program(["watch", "--once", "--json", "--socket", hub.socket])
    #expect(watch.wait() == 0, "\(watch.standardError)")
    // Root may still calibrate, and the second client gets the name of the first one. The simulated vehicle hardly ever
    // stands, so this calibration waits.
    let first = Program(["calibrate", "mount", "--socket", hub.socket])
    #expect(first.logs("0 %"), "\(first.standardError)")
    let second = Program(["calibrate", "gyro", "--socket", hub.socket])
    #expect(second.wait() == 69)
    #expect(
      second.standardError.contains("in progress, started by calibrate[\(first.pid)] of root"),
      "\(second.standardError)")
    first.send(SIGINT)
    first.wait()
    #expect(hub.stop() == 0)
  }

  @Test func `another user cannot lock calibrations, nor redirect root's files`() throws {
    let state = ["STATE_DIRECTORY=\(folder)/state"]
    let rows = (0..<2000).map { "\(Double($0) / 100),0.01,-0.02,0.005,0.\($0 % 3),0,9.8" }
    HubProcess.write("t,gx,gy,gz,ax,ay,az\n" + rows.joined(separator: "\n"), to: "\(folder)/rest.csv")
    func calibrate() -> Program {
      let program = Program(
        ["calibrate", "gyro", "--imu", "\(folder)/rest.csv", "--device", "imu"], environment: state)
      program.wait()
      return program
    }
    HubProcess.write("secret", to: "\(folder)/victim")
    let (calibrations, chip) = ("\(folder)/state/calibration", "simulated-i2c-68.json5")
    #expect(mkdir("\(folder)/state", 0o755) == 0 && mkdir(calibrations, 0o755) == 0)
    // A daemon that was taken over creates these links.
    #expect(symlink("\(folder)/victim", "\(calibrations)/lock") == 0)
    let linked = calibrate()
    #expect(linked.wait() == 77 && linked.standardError.contains("it is a link"), "\(linked.standardError)")
    unlink("\(calibrations)/lock")
    #expect(symlink("\(folder)/victim", "\(calibrations)/\(chip)") == 0)
    let chipLinked = calibrate()
    #expect(chipLinked.wait() == 65 && chipLinked.standardError.contains("it is a link"), "\(chipLinked.standardError)")
    unlink("\(calibrations)/\(chip)")
    let done = calibrate()
    #expect(done.wait() == 0, "\(done.standardError)")
    #expect((try? Files.bytes(of: "\(folder)/victim")) == Array("secret".utf8))
    // A user who may read the folder must not be able to lock it for root.
    #expect(access("\(calibrations)/lock", F_OK) == 0)
    let lock = ["--nonblock", "\(calibrations)/lock", "true"]
    #expect(OtherUser.program(lock, path: "/usr/bin/flock", readsAll: false).wait() != 0)
    let locker = OtherUser.program(
      ["\(calibrations)", "sh", "-c", "echo locked; exec sleep 600"], path: "/usr/bin/flock", readsAll: false)
    #expect(locker.prints("locked"), "\(locker.standardError)")
    #expect(calibrate().wait() == 0)
    locker.send(SIGKILL)
    // The folder itself is a link. The daemon's account can create one where the service keeps its state.
    #expect(rename(calibrations, "\(folder)/moved") == 0)
    #expect(symlink("\(folder)/moved", calibrations) == 0 && OtherUser.give(calibrations))
    let led = calibrate()
    #expect(led.wait() == 65 && led.standardError.contains("is a link of user"), "\(led.standardError)")
  }

  // MARK: Slots

  /// Sends requests to the web port as another user, `count` times; returns the answers with their numbers.
  private func ask(_ port: UInt16, _ path: String, _ count: Int = 1) -> (statuses: String, answer: String) {
    let script = """
      import http.client, collections
      c = http.client.HTTPConnection("127.0.0.1", \(port))
      n = collections.Counter()
      for _ in range(\(count)):
        c.request("POST", "\(path)"); r = c.getresponse(); n[r.status] += 1; text = r.read().decode()
      print(sorted(n.items())); print(text)
      """
    let program = OtherUser.program(["-c", script], path: "/usr/bin/python3", readsAll: false)
    program.wait()
    let lines = program.lines
    return (lines.first ?? program.standardError, lines.dropFirst().joined())
  }

  @Test func `one user can have half of the holds, for an hour each, and root can end them all`() throws {
    let port = SocketClient.freePort()
    let hub = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port) }"))
    #expect(hub.logs("dashboard on"))
    let long = ask(port, "/devices/imu/hold?for=3601")
    #expect(long.statuses == "[(403, 1)]" && long.answer.contains("a hold lasts at most 3600 s"), "\(long)")
    let all = ask(port, "/devices/imu/hold?for=3600", 140)
    #expect(all.statuses == "[(200, 128), (503, 12)]", "\(all)")
    #expect(all.answer.contains("has 128 of 256, the most that one user may have"), "\(all)")
    #expect(HTTPAnswer(port, "POST", "/devices/imu/hold?for=86400").status == 200)
    let refused = OtherUser.program(["release", "--socket", hub.socket])
    #expect(refused.wait() == 77 && refused.standardError.contains("this needs root or"), "\(refused.standardError)")
    #expect(refused.standardError.contains("next: sudo sensorhub release"), "\(refused.standardError)")
    #expect(HTTPAnswer(port, "GET", "/holds").body.contains("held for"))
    let release = Program(["release", "--socket", hub.socket])
    #expect(release.wait() == 0 && release.standardOutput == "ended: 129 holds\n", "\(release.standardOutput)")
    #expect(!HTTPAnswer(port, "GET", "/holds").body.contains("held for"))
    #expect(hub.comesToRest())
    // The request itself has woken nothing.
    #expect(hub.devicesNow["gps"].wakes == 0)
    let again = Program(["release", "--socket", hub.socket])
    #expect(again.wait() == 0 && again.standardOutput == "nothing to end\n")
    #expect(hub.stop() == 0)
  }

  @Test func `one user can have half of the recordings, and root can end them completely`() throws {
    let hub = HubProcess(board: HubProcess.simulatedBoard(""))
    chmod(folder, 0o777)
    func record(_ name: String) -> Program {
      OtherUser.program(["record", "--observe", "--socket", hub.socket, "--output", "\(folder)/\(name).mcap"])
    }
    func isRecorded(_ name: String) -> Bool { ((try? Files.bytes(of: "\(folder)/\(name).mcap")) ?? []).count > 8 }
    let programs = ["one", "two"].map(record)
    #expect(FileChanges.wait(in: folder) { isRecorded("one") && isRecorded("two") })
    let third = record("three")
    #expect(third.wait() == 69 && third.standardError.contains("has 2 of 4"), "\(third.standardError)")
    let own = Program([
      "record", "--for", "0.5", "--observe", "--socket", hub.socket, "--output", "\(folder)/own.mcap",
    ])
    #expect(own.wait() == 0, "\(own.standardError)")
    let release = Program(["release", "--socket", hub.socket])
    #expect(release.wait() == 0 && release.standardOutput == "ended: 2 recordings\n", "\(release.standardOutput)")
    for program in programs { program.wait() }
    for name in ["one", "two"] {
      let info = Program(["info", "\(folder)/\(name).mcap"])
      #expect(info.wait() == 0, "\(info.standardOutput)\(info.standardError)")
    }
    #expect(hub.stop() == 0)
  }

  // MARK: Scarce threads

  /// Starts a hub whose user may have a number of threads.
  private func hub(threads limit: Int) -> Program {
    let own = "\(folder)/threads-\(limit)"
    let user = OtherUser.alone()
    #expect(mkdir(own, 0o755) == 0 && OtherUser.give(own, to: user))
    HubProcess.write(HubProcess.simulatedBoard(""), to: "\(own)/board.json5")
    return OtherUser.program(
      [
        "--nproc=\(limit)", Program.sensorhub, "run", "--no-journal-state", "--board", "\(own)/board.json5", "--socket",
        "\(own)/hub.sock",
      ], path: "/usr/bin/prlimit", as: user, environment: ["STATE_DIRECTORY=\(own)"])
  }

  @Test func `a hub that gets no thread for an essential task does not start`() {
    for (limit, name) in [(1, "timers"), (2, "tasks")] {
      let hub = hub(threads: limit)
      #expect(hub.wait() == 69)
      #expect(hub.standardError.contains("cannot start a thread for \(name): "), "\(hub.standardError)")
    }
  }

  @Test func `a hub without a thread for its clients ends with an exit code and a reason`() {
    // The main thread, and the threads for timers, tasks, the log and signals.
    let hub = hub(threads: 5)
    #expect(hub.wait() == 74)
    #expect(hub.standardError.contains("sensorhub: starting a thread for "), "\(hub.standardError)")
  }

  @Test func `a signal ends a hub that gets no further thread`() {
    // The main thread, and the threads for timers, tasks, the log, signals, clients and hot-plugging.
    let hub = hub(threads: 7)
    #expect(hub.logs("state on"), "\(hub.standardError)")
    // Ready does not mean that all services have started.
    #expect(eventually { Files.names(in: "/proc/\(hub.pid)/task").count == 7 }, "\(hub.standardError)")
    hub.send(SIGTERM)
    #expect(hub.wait() == 0, "\(hub.standardError)")
    #expect(hub.standardError.contains("stopped; all power lines are off"), "\(hub.standardError)")
  }

  // MARK: Making safe

  @Test func `safe works on a board next to a hub that uses other devices`() {
    func board(_ name: String, _ bus: String) -> String {
      "{ name: \"\(name)\", devices: { imu: { driver: \"mpu-6050\", bus: \"\(bus)\" } } }"
    }
    let hub = HubProcess(board: board("first", "/dev/i2c-98"))
    HubProcess.write(board("second", "/dev/i2c-99"), to: "\(folder)/second.json5")
    let other = Program(["safe", "\(folder)/second.json5", "--socket", hub.socket])
    #expect(other.wait() == 0, "\(other.standardError)")
    #expect(other.standardOutput.contains("missing, so not put to sleep: imu"), "\(other.standardOutput)")
    let same = Program(["safe", hub.boardFile, "--socket", hub.socket])
    #expect(same.wait() == 69)
    #expect(same.standardError.contains("uses devices of this board: 0x68 on /dev/i2c-98"), "\(same.standardError)")
    let unnamed = Program(["safe", "--socket", hub.socket])
    #expect(
      unnamed.wait() == 69 && unnamed.standardError.contains("controls its own devices"), "\(unnamed.standardError)")
    // The hub's board file in use is still known after it was killed.
    #expect(hub.stop(SIGKILL) == -SIGKILL)
    let left = Program(["safe", "--socket", hub.socket])
    #expect(
      left.wait() == 0 && left.standardOutput.contains("missing, so not put to sleep: imu"), "\(left.standardError)")
  }
}
