import MonotonicTime
import Simulation
import TestSupport
import Testing

/// Others' parsers and makers of messages, which know nothing of this project, talk to each receiver.
@Suite(.timeLimit(.minutes(10)))
struct ReceiverDialogueTests {
  @Test func `pyubx2 and pynmeagps understand every byte that each receiver says`() throws {
    let world = World(start: MonotonicClock().now)
    var configuration = CommandedReceiver.Configuration()
    configuration.wasUsedBefore = true
    let receivers = ReceiverPersonality.allCases.map {
      CommandedReceiver($0, world: world, configuration: configuration)
    }
    let ports = try receivers.map { "\($0.personality.rawValue)=\(try $0.plugIn())" }
    let program = Python.program([SharedData.packageFolder + "/Tests/SimulationTests/dialogue.py"] + ports)
    for receiver in receivers {
      // Supplied once it is listened to, so that nothing is missed.
      #expect(eventually { program.lines.contains("open \(receiver.personality.rawValue)") || !program.isRunning })
      receiver.setPower(true)
    }
    #expect(program.wait() == 0, "\(program.standardOutput)\(program.standardError)")
    #expect(program.lines.filter { $0.contains(" done, ") }.count == receivers.count)
  }
}
