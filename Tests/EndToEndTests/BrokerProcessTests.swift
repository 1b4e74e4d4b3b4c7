import CLinux
import FoundationEssentials
import Glibc
import HardwareIO
import TestSupport
import Testing

@testable import Outputs

/// The process that holds a hub's connection to its broker: its environment, and the end of both.
@Suite(.serialized, .timeLimit(.minutes(15))) struct BrokerProcessTests {
  private let broker = Broker()

  private func hub(path: String = Program.sensorhub) -> HubProcess {
    HubProcess(
      board: HubProcess.simulatedBoard("mqtt: { broker: \"\(broker.address)\", hub: \"boat\" }"), path: path)
  }

  private func hasJoined(_ hub: HubProcess, times: Int = 1) -> Bool {
    hub.logs { $0.ranges(of: "joined \(broker.address) as 'boat'").count >= times }
  }

  /// The only child process of a hub.
  private func process(of hub: HubProcess) throws -> pid_t {
    #expect(hasJoined(hub), "\(hub.program.standardError)")
    #expect(hub.children.count == 1)
    return try #require(hub.children.first)
  }

  private func links(of pid: pid_t) -> Set<String> {
    let links = Files.names(in: "/proc/\(pid)/fd").compactMap { name -> String? in
      var target = [CChar](repeating: 0, count: 256)
      let count = readlink("/proc/\(pid)/fd/\(name)", &target, target.count)
      return count > 0 ? String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }
    return Set(links)
  }

  @Test func `the broker process ends when its hub is killed, whatever it is doing`() throws {
    let hub = hub()
    let joined = try process(of: hub)
    hub.program.send(SIGKILL)
    #expect(ProcessEnd.wait(for: joined))
    // The broker published the will: the process did not disconnect.
    #expect(broker.retains("offline", on: "sensorhub/boat/status"))
    // While the process waits for the network, only the end of its hub can wake it.
    broker.stop()
    let wall = FullListener(port: broker.port)
    let other = self.hub()
    #expect(eventually { wall.isTried && other.children.count == 1 })
    let waiting = try #require(other.children.first)
    other.program.send(SIGKILL)
    #expect(ProcessEnd.wait(for: waiting))
    wall.end()
  }

  @Test func `the hub loses no value if its broker process is killed or stopped, and the process ends with its hub`()
    throws
  {
    let topic = "sensorhub/boat/state/attitude"
    // The logger gets this message once it has subscribed.
    broker.publish(topic, "seen")
    let logger = broker.listen([topic], ["-c", "-i", "logger"])
    #expect(logger.prints("seen"))
    let hub = hub()
    let first = try process(of: hub)
    broker.publish("sensorhub/boat/interest/logger/attitude", #"{"rateHz": 10, "for": 3600}"#)
    struct Value: Decodable { var id: String? }
    func numbers() -> [Int] {
      logger.lines.compactMap { line in
        let value = try? JSONDecoder().decode(Value.self, from: Data(line.drop { $0 != "{" }.utf8))
        return value?.id?.split(separator: "-").last.flatMap { Int($0) }
      }
    }
    // Signals to the whole process group are for the hub.
    for number in [SIGHUP, SIGINT, SIGTERM] { kill(first, number) }
    #expect(logger.prints { _ in numbers().count > 5 })
    #expect(hub.program.standardError.ranges(of: "joined").count == 1, "\(hub.program.standardError)")
    kill(first, SIGKILL)
    #expect(hasJoined(hub, times: 2), "\(hub.program.standardError)")
    let second = try #require(hub.children.first)
    #expect(second != first)
    var before = Set(numbers()).count
    #expect(logger.prints { _ in Set(numbers()).count > before + 20 }, "\(hub.program.standardError)")
    // The process does not answer any more, whatever the cause, so it is ended.
    kill(second, SIGSTOP)
    #expect(hasJoined(hub, times: 3), "\(hub.program.standardError)")
    #expect(hub.program.standardError.contains("did not answer, and was stopped"))
    before = Set(numbers()).count
    #expect(logger.prints { _ in Set(numbers()).count > before + 20 }, "\(hub.program.standardError)")
    let last = numbers().max() ?? 0
    let isComplete = logger.prints { _ in Set(numbers()).isSuperset(of: 1...last) }
    #expect(isComplete, "\(Set(1...last).subtracting(numbers()).sorted())")
    #expect(hub.devicesNow["imu"].wakes == 1)
    let third = try #require(hub.children.first)
    #expect(hub.stop() == 0)
    #expect(HubProcess.parent(of: third) == nil)
    #expect(broker.retains("offline", on: "sensorhub/boat/status"))
    logger.send(SIGKILL)
  }

  @Test(.enabled(if: RootRights.areWanted, "left out by SKIP=root"))
  func `the broker process inherits only a socket, blocks no signal, and exposes no secret`() throws {
    // Only root sees the open files of a process that hides them.
    try RootRights.require()
    let password = "not for others"
    let passwords = Broker { folder in
      let program = Program(["-c", "-b", folder + "/passwords", "boat", password], path: "/usr/bin/mosquitto_passwd")
      program.wait()
      HubProcess.write(password + "\n", to: folder + "/boat")
      return "allow_anonymous false\npassword_file \(folder)/passwords"
    }
    let hub = HubProcess(
      board: HubProcess.simulatedBoard(
        """
        nmea: { port: \(SocketClient.freePort()) }, http: { port: \(SocketClient.freePort()) },
        mqtt: { broker: "\(passwords.address)", hub: "boat", username: "boat", passwordFile: "\(passwords.folder)/boat" }
        """), environment: ["CREDENTIALS_DIRECTORY=\(passwords.folder)"])
    #expect(hub.logs("joined"), "\(hub.program.standardError)")
    let pid = try #require(hub.children.first)
    #expect(links(of: pid).intersection(links(of: hub.program.pid)).isSubset(of: ["/dev/null"]))
    #expect(HubProcess.status("SigBlk", of: pid).map { $0.allSatisfy { $0 == "0" } } == true)
    let most = try #require(HubProcess.kilobytes("VmData", of: pid))
    #expect(most <= 64 << 10)
    for file in ["cmdline", "environ"] {
      let text = String(decoding: try Files.bytes(of: "/proc/\(pid)/\(file)"), as: UTF8.self)
      #expect(!text.contains(password))
    }
    let arguments = try Files.bytes(of: "/proc/\(pid)/cmdline").split(separator: 0)
    #expect(arguments.map { String(decoding: $0, as: UTF8.self) } == ["sensorhub", "mqtt-connection"])
    #expect(hub.stop() == 0)
  }

  @Test func `a hub whose executable was replaced or deleted still joins its broker`() throws {
    let folder = TemporaryFolder("deployed")
    let executable = folder.path + "/sensorhub"
    #expect(Program([Program.sensorhub, executable], path: "/bin/cp").wait() == 0)
    broker.stop()
    let hub = hub(path: executable)
    #expect(hub.logs("cannot be reached"), "\(hub.program.standardError)")
    // A deployment replaces the file. The new version may differ, or may not run here at all.
    HubProcess.write("none", to: executable + ".part")
    #expect(rename(executable + ".part", executable) == 0)
    broker.start()
    #expect(hasJoined(hub), "\(hub.program.standardError)")
    unlink(executable)
    let before = try process(of: hub)
    kill(before, SIGKILL)
    #expect(hasJoined(hub, times: 2), "\(hub.program.standardError)")
    #expect(hub.stop() == 0)
  }

  /// The process behaves like one that an attacker has taken over.
  @Test(arguments: [#"printf '\377\377\377\377\003'"#, #"printf '\001\000\000\000\143'"#, "cat /dev/zero"])
  func `the hub disconnects a broker process that sends an invalid report`(command: String) throws {
    let folder = TemporaryFolder("taken-over")
    let script = folder.path + "/process"
    HubProcess.write("#!/bin/sh\n\(command) >&0\nexec sleep 100000\n", to: script)
    chmod(script, 0o755)
    let access = BrokerAccess(host: "127.0.0.1", port: 1, identifier: "boat")
    let process = try Program.starting { try BrokerProcess(access, program: script) }
    let failure = #expect(throws: BrokerProcess.Failure.self) {
      while true {
        var descriptor = pollfd(fd: process.socket, events: Int16(POLLIN), revents: 0)
        poll(&descriptor, 1, -1)
        try process.read { _ in }
      }
    }
    #expect(failure?.reason.contains("has sent invalid data") == true)
  }

  @Test func `the broker process's command is refused to people and is not in the help`() {
    let program = Program(["mqtt-connection"])
    #expect(program.wait() == 64)
    #expect(program.standardError.contains("is an internal command of the hub"), "\(program.standardError)")
    #expect(!Program.output(of: ["--help"]).contains("mqtt-connection"))
  }
}

extension Program {
  fileprivate static func output(of arguments: [String]) -> String {
    let program = Program(arguments)
    program.wait()
    return program.standardOutput
  }
}
