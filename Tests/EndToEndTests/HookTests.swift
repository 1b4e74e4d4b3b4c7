import FoundationEssentials
import Glibc
import HardwareIO
import TestSupport
import Testing

/// Hooks: the programs, servers and brokers to which a hub reports its events.
@Suite(.serialized, .timeLimit(.minutes(20))) struct HookTests {
  private struct Notice: Decodable, Equatable {
    var eventId, event, change, subject, title, message: String
    var active: Bool
    var mark: String?

    static func read(_ text: some StringProtocol) -> Notice? {
      try? JSONDecoder().decode(Notice.self, from: Data(text.utf8))
    }
  }

  /// A server that accepts POST requests.
  private final class Receiver: Sendable {
    let bodies = Recorder<String>()
    private let server: ScriptedServer
    var port: UInt16 { server.port }

    init(at port: UInt16 = 0) {
      let bodies = bodies
      server = ScriptedServer(at: port) { client in
        hold { Receiver.body(of: client.text) != nil || !client.isOpen }
        guard let body = Receiver.body(of: client.text) else { return }
        bodies.append(body)
        client.send("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        client.leave()
      }
    }

    var notices: [Notice] { bodies.values.compactMap { Notice.read($0) } }

    func end() { server.end() }

    /// Returns the body once all of it has arrived.
    private static func body(of text: String) -> String? {
      guard let head = text.firstRange(of: "\r\n\r\n"), let name = text.firstRange(of: "Content-Length: ") else {
        return nil
      }
      let body = text[head.upperBound...]
      let digits = text[name.upperBound...].prefix { $0.isNumber }
      return Int(digits).flatMap { body.utf8.count >= $0 ? String(body) : nil }
    }
  }

  private let folder = TemporaryFolder("hooks")
  private var marks: String { "\(folder.path)/marks" }

  private func board(_ hooks: String, _ more: String = "") -> String {
    HubProcess.simulatedBoard(
      "fences: { start: { circle: [52.5163, 13.3777, 50], grace: 2, speed: 20 } }, on: { \(hooks) }\(more)")
  }

  /// Starts a hub as another user if the tests run as root, because root's hub runs no hook programs.
  private func hub(_ board: String) -> Program {
    let file = "\(folder.path)/board.json5"
    HubProcess.write(board, to: file)
    let arguments = ["run", "--socket", "\(folder.path)/hub.sock", "--board", file]
    let environment = ["STATE_DIRECTORY=\(folder.path)/state"]
    guard geteuid() == 0 else { return Program(arguments, environment: environment) }
    mkdir("\(folder.path)/state", 0o700)
    for path in [folder.path, "\(folder.path)/state"] { #expect(OtherUser.give(path)) }
    return OtherUser.program(arguments, environment: environment)
  }

  /// A hook program that stores its input.
  private func keeper() -> String {
    let path = "\(folder.path)/keeper"
    HubProcess.write("#!/bin/sh\ncat >> \"$1\"\n", to: path)
    chmod(path, 0o755)
    return path
  }

  private func text(_ file: String) -> String {
    String(decoding: (try? Files.bytes(of: file, limit: 1 << 20)) ?? [], as: UTF8.self)
  }

  private var marked: [Notice] { text(marks).split(separator: "\n").compactMap { Notice.read($0) } }

  private func stop(_ hub: Program) {
    hub.send(SIGTERM)
    #expect(hub.wait() == 0, "\(hub.standardError)")
  }

  @Test func `hooks report a failure and its end once each, across restarts of the server and the hub`() throws {
    let server = Receiver()
    // The port does not exist at first.
    let port = "\(folder.path)/gps"
    let board = """
      { name: "test", devices: { gps: { driver: "nmea", port: "\(port)", speed: 9600 } },
        on: { device: [{ run: ["\(keeper())", "\(marks)"] },
          { url: "http://127.0.0.1:\(server.port)/hub", topic: "boat" }] } }
      """
    let first = hub(board)
    #expect(first.logs("state on"), "\(first.standardError)")
    let client = SocketClient(path: "\(folder.path)/hub.sock")
    #expect(server.bodies.waits { !$0.isEmpty }, "\(first.standardError)")
    let failed = try #require(server.notices.first)
    #expect(failed.event == "device" && failed.change == "failed" && failed.active && failed.subject == "gps")
    #expect(server.bodies.values.allSatisfy { $0.hasPrefix(#"{"class":"HOOK","topic":"boat","title":"test: "#) })
    // A message without an answer would be sent again.
    #expect(first.logs("hook on.device[1]: delivered test: gps failed"), "\(first.standardError)")
    // The server is down while the device recovers, and the hub restarts before the server does.
    server.end()
    let heard = server.notices
    let receiver = ScriptedReceiver(speed: 9600) { _ in .silence }
    #expect(chmod(receiver.path, 0o666) == 0 && symlink(receiver.path, port) == 0)
    #expect(first.logs("hook on.device[1]: not delivered yet, trying again: test: gps"), "\(first.standardError)")
    let (state, file) = ("\(folder.path)/state", "\(folder.path)/state/hooks.json")
    #expect(FileChanges.wait(in: state) { text(file).contains(#""change":"works""#) }, "\(text(file))")
    client.leave()
    stop(first)
    receiver.end()
    let again = Receiver(at: server.port)
    let second = hub(board)
    #expect(again.bodies.waits { !$0.isEmpty }, "\(second.standardError)")
    let works = try #require(again.notices.first)
    #expect(works.change == "works" && works.event == "device" && !works.active)
    #expect(FileChanges.wait(in: state) { !text(file).contains(works.eventId) }, "\(text(file))")
    stop(second)
    // Both events arrive, each once and in this order.
    let posted = heard + again.notices
    #expect(posted.count { $0.eventId == failed.eventId } == 1 && posted.count { $0.eventId == works.eventId } == 1)
    for notices in [posted, marked] {
      #expect(Set(notices.map(\.eventId)).count == notices.count, "\(notices)")
      let index = try #require(notices.firstIndex { $0.eventId == failed.eventId })
      #expect(notices[(index + 1)...].first?.eventId == works.eventId, "\(notices)")
    }
  }

  @Test func `a device's failure and recovery are published once each`() throws {
    let broker = Broker()
    let topic = "sensorhub/boat/alarm"
    // The listener gets this message once it has subscribed.
    broker.publish(topic, "seen")
    let listener = broker.listen([topic])
    #expect(listener.prints("seen"))
    // The port does not exist at first.
    let port = "\(folder.path)/gps"
    let hub = HubProcess(
      board: """
        { name: "test", devices: { gps: { driver: "nmea", port: "\(port)", speed: 9600 } },
          mqtt: { broker: "\(broker.address)", hub: "boat" }, on: { device: { mqtt: "alarm" } } }
        """)
    let watch = hub.watch()
    func notices() -> [Notice] {
      listener.lines.compactMap { line in line.hasPrefix(topic) ? Notice.read(line.dropFirst(topic.count + 1)) : nil }
    }
    #expect(listener.prints { _ in !notices().isEmpty }, "\(hub.program.standardError)")
    let failed = try #require(notices().first)
    #expect(failed.event == "device" && failed.change == "failed" && failed.active && failed.subject == "gps")
    #expect(failed.message.contains(port), "\(failed)")
    #expect(hub.program.logs("hook on.device: delivered test: gps failed"))
    let receiver = ScriptedReceiver(speed: 9600) { _ in .silence }
    #expect(symlink(receiver.path, port) == 0)
    #expect(listener.prints { _ in notices().count > 1 }, "\(hub.program.standardError)")
    #expect(notices().map(\.change) == ["failed", "works"], "\(notices())")
    #expect(notices().last?.active == false)
    #expect(hub.stop() == 0)
    watch.wait()
    receiver.end()
    listener.send(SIGTERM)
    listener.wait()
  }

  @Test func `an event that the broker refuses is not delivered, and waits`() throws {
    let broker = Broker { folder in
      let list = "\(folder)/list"
      HubProcess.write("topic readwrite #\ntopic deny sensorhub/boat/alarm\n", to: list)
      return "allow_anonymous true\nacl_file \(list)"
    }
    let hub = HubProcess(
      board: """
        { name: "test", devices: { gps: { driver: "nmea", port: "\(folder.path)/none", speed: 9600 } },
          mqtt: { broker: "\(broker.address)", hub: "boat" }, on: { device: { mqtt: "alarm" } } }
        """)
    let watch = hub.watch()
    #expect(
      hub.program.logs("hook on.device: not delivered yet, trying again: test: gps failed"),
      "\(hub.program.standardError)")
    #expect(hub.program.standardError.contains("the broker's access list must let this user write there"))
    #expect(!hub.program.standardError.contains("hook on.device: delivered"))
    #expect(hub.stop() == 0)
    watch.wait()
  }

  @Test(.enabled(if: RootRights.areWanted, "left out by SKIP=root"))
  func `a hub that runs as root runs no hook program, and says what to do`() throws {
    try RootRights.require()
    let hub = HubProcess(board: board("any: { run: [\"\(keeper())\", \"\(marks)\"] }"))
    #expect(hub.logs("does not run, because the hub runs as root"), "\(hub.program.standardError)")
    #expect(hub.program.standardError.contains("sudo systemctl start sensorhub"))
    #expect(hub.stop() == 0)
  }

  @Test func `check shows which hooks will run, and what the sandbox allows for them`() {
    let file = "\(folder.path)/board.json5"
    let keeper = keeper()
    HubProcess.write(
      board(
        """
        fence: { run: ["\(keeper)", "two words"], limitSeconds: 5 }, any: { mqtt: "alarm" },
        device: { url: "https://gotify.example/message?token=secret" }
        """, ", mqtt: { broker: \"mqtt://127.0.0.1\", hub: \"boat\" }"), to: file)
    let right = Program(["check", file])
    #expect(right.wait() == 0, "\(right.standardError)")
    for line in [
      "hook on.any: publishes 'alarm' below the hub's topic at its broker\n",
      "hook on.fence: runs \(keeper) 'two words', for at most 5.0 s, as the hub's user and never as root\n",
      "hook on.device: posts to https://gotify.example\n", "    IPAddressAllow=any\n", "    ExecPaths=-/usr/bin\n",
      "    ExecPaths=\"-\(keeper)\"\n",
    ] {
      #expect(right.standardOutput.contains(line), "\(line): \(right.standardOutput)")
    }
    #expect(!right.standardOutput.contains("secret"))
    chmod(keeper, 0o644)
    HubProcess.write(
      board("fence: [{ run: [\"\(keeper)\"] }, { run: [\"/nowhere/x\"] }, { mqtt: \"alarm\" }]"), to: file)
    let wrong = Program(["check", file])
    #expect(wrong.wait() == 65)
    for mistake in [
      "'on.fence[0].run' cannot run \(keeper): it is not executable: sudo chmod 755 \(keeper)",
      "'on.fence[1].run' cannot run /nowhere/x: No such file or directory",
      "'on.fence[2].mqtt' needs a broker: set 'mqtt.broker'",
    ] {
      #expect(wrong.standardError.contains(mistake), "\(wrong.standardError)")
    }
  }
}
