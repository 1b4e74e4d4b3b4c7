import Glibc
import HardwareIO
import TestSupport
import Testing

/// Fences of a hub whose vehicle drives a figure of eight around their centre.
@Suite(.serialized, .timeLimit(.minutes(15))) struct FenceTests {
  private let http = SocketClient.freePort()

  private func board(_ fences: String, _ more: String = "") -> String {
    HubProcess.simulatedBoard("http: { port: \(http) }, fences: { \(fences) }\(more)")
  }

  /// A fence of 50 m around the place where the vehicle starts. The vehicle drives 100 m away and stops there for ten
  /// seconds a lap.
  private static let start = "start: { circle: [52.5163, 13.3777, 50], grace: 2, speed: 20 }"

  @Test func `leaving between two runs of the hub is noticed and published`() {
    let broker = Broker()
    // The vehicle passes this place once a lap and never stops near it.
    let fence = "spot: { circle: [52.51, 13.37, 50], speed: 20 }"
    let folder = TemporaryFolder("fence-state")
    let mqtt = ", mqtt: { broker: \"\(broker.address)\", hub: \"boat\" }"
    func run() -> HubProcess { HubProcess(board: board(fence, mqtt), environment: ["STATE_DIRECTORY=\(folder.path)"]) }
    let topic = "sensorhub/boat/fences"
    let first = run()
    #expect(first.logs("fence spot: the board is outside, "))
    let listener = broker.listen([topic])
    #expect(listener.prints(#""fences":{"spot":{"state":"outside","#), "\(listener.standardOutput)")
    let file = "\(folder.path)/fences.json"
    #expect(FileChanges.wait(in: folder.path) { text(file).contains(#""isInside":false"#) }, "\(text(file))")
    #expect(first.stop() == 0)
    // The stored state says that the board was inside.
    HubProcess.write(text(file).replacing(#""isInside":false"#, with: #""isInside":true"#), to: file)
    let second = run()
    #expect(
      second.logs("fence spot: left, "), "\(second.program.standardError)")
    #expect(listener.prints(#""event":"leave""#), "\(listener.standardOutput)")
    // The broker keeps it for later clients.
    #expect(broker.retained(topic)?.contains(#""fences":{"spot":"#) == true)
    #expect(second.stop() == 0)
    listener.send(SIGTERM)
    listener.wait()
  }

  @Test func `a second hub in the same state folder leaves the first one's fence states unchanged`() {
    let folder = TemporaryFolder("fence-state")
    func run(_ name: String) -> HubProcess {
      HubProcess(
        board: HubProcess.simulatedBoard("fences: { \(name): { circle: [52.51, 13.37, 50], speed: 20 } }"),
        environment: ["STATE_DIRECTORY=\(folder.path)"])
    }
    let file = "\(folder.path)/fences.json"
    let first = run("spot")
    #expect(FileChanges.wait(in: folder.path) { text(file).contains(#""spot":"#) }, "\(first.program.standardError)")
    let second = run("other")
    #expect(second.logs("fence other: the board is outside, "))
    #expect(second.program.standardError.contains("another hub stores its history in \(folder.path)"))
    #expect(second.stop() == 0)
    #expect(text(file).contains(#""spot":"#) && !text(file).contains("other"), "\(text(file))")
    #expect(first.stop() == 0)
  }

  private func text(_ file: String) -> String {
    String(decoding: (try? Files.bytes(of: file, limit: 1 << 16)) ?? [], as: UTF8.self)
  }

  @Test func `check lists the fences and reports missing devices`() {
    let file = "/tmp/sensorhub-fence-\(getpid()).json5"
    defer { unlink(file) }
    HubProcess.write(board(Self.start), to: file)
    let right = Program(["check", file])
    #expect(right.wait() == 0, "\(right.standardError)")
    #expect(
      right.standardOutput.contains(
        "fence start: 50 m around 52.516300, 13.377700; at least one fix every 10 min 00 "
          + "s"),
      "\(right.standardOutput)")
    HubProcess.write("{ name: 'x', devices: {}, fences: { \(Self.start) } }", to: file)
    let wrong = Program(["check", file])
    #expect(wrong.wait() == 65 && wrong.standardError.contains("'fences' needs a receiver for the position"))
  }
}
