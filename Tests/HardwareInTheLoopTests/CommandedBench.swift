import MonotonicTime
import Simulation
import TestSupport
import VirtualBench

/// A receiver that understands commands, on a tty of the kernel's and supplied by the virtual board's line, and a hub that has no
/// other device.
final class CommandedBench: Sendable {
  let receiver: CommandedReceiver
  let line: LineHistory
  private let port: String

  /// - Parameter timeToFirstFixScale: in place of the published times
  init(_ personality: ReceiverPersonality, timeToFirstFixScale: Double = 1) throws {
    var configuration = CommandedReceiver.Configuration()
    configuration.wasUsedBefore = true
    configuration.timeToFirstFixScale = timeToFirstFixScale
    let receiver = CommandedReceiver(
      personality, world: World(start: MonotonicClock().now.advanced(by: .seconds(-15))), configuration: configuration)
    self.receiver = receiver
    port = try receiver.plugIn()
    let chip = Bench.board.chip
    line = LineHistory(of: { chip.level(VirtualBoard.gpsPower) }) { receiver.setPower($0) }
  }

  /// - Parameter power: more of the board file's `power`
  func hub(_ driver: String, _ power: String) -> HubProcess {
    let supply = "switch: \"gpio\", chip: \"\(Bench.board.chip.label)\", line: \"\(VirtualBoard.gpsPower)\""
    let text = """
      { name: "bench", devices: { gps: { driver: "\(driver)", port: "\(port)",
        speed: \(receiver.personality.factorySpeed), power: { \(supply), settleMilliseconds: 0, \(power) } } } }
      """
    let hub = HubProcess(board: text, environment: ["SWIFT_BACKTRACE=enable=no"])
    _ = eventually { !line.isHigh }
    line.restart()
    return hub
  }
}
