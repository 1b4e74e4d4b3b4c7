import MonotonicTime
import Simulation
import TestSupport
import Testing

/// Third-party parsers and message generators, which share no code with this project, talk to each receiver.
@Suite(.timeLimit(.minutes(10)))
struct CommandChannelTests {
  @Test func `pyubx2 and pynmeagps understand all bytes of each receiver`() throws {
    let world = World(start: MonotonicClock().now)
    var configuration = CommandedReceiver.Configuration()
    configuration.wasUsedBefore = true
    let receivers = ReceiverPersonality.allCases.map {
      CommandedReceiver($0, world: world, configuration: configuration)
    }
    let ports = try receivers.map { "\($0.personality.rawValue)=\(try $0.plugIn())" }
    let program = Python.program([SharedData.packageFolder + "/Tests/SimulationTests/dialogue.py"] + ports)
    for receiver in receivers {
      // The supply comes on once the program is listening, so that it misses nothing.
      _ = program.prints("open \(receiver.personality.rawValue)\n")
      receiver.setPower(true)
    }
    #expect(program.wait() == 0, "\(program.standardOutput)\(program.standardError)")
    #expect(program.lines.filter { $0.contains(" done, ") }.count == receivers.count)
  }
}
