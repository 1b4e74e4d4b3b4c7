import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import VirtualBench

/// A receiver that understands commands, on a tty of the kernel's and supplied by a line of the kernel's, and a hub that has no
/// other device, unless it is to have an inertial sensor that waits for motion.
///
/// Between two of the hub's doings it costs next to nothing, so that hours may pass; unless the process has `Bench.board` too, which
/// looks at its lines all the time.
final class CommandedBench: Sendable {
  private static let (power, ready, witness) = ("power", "ready", "witness")

  /// For one bench after the other.
  private static let chip: GPIOSimulator = {
    do {
      return try GPIOSimulator(label: "commanded", lineNames: [power, ready, witness])
    } catch {
      fatalError("the bench has no GPIO chip: \(error)")
    }
  }()

  let receiver: CommandedReceiver
  let line: LineHistory
  /// From the inertial sensor, if there is one.
  let interrupt: InterruptWire?
  private let relay: I2CRelay?
  private let port: String

  /// - Parameters:
  ///   - timeToFirstFixScale: in place of the published times
  ///   - world: in which both are
  init(
    _ personality: ReceiverPersonality, timeToFirstFixScale: Double = 1,
    world: World = World(start: MonotonicClock().now.advanced(by: .seconds(-15))), hasIMU: Bool = false
  ) throws {
    var configuration = CommandedReceiver.Configuration()
    configuration.wasUsedBefore = true
    configuration.timeToFirstFixScale = timeToFirstFixScale
    let receiver = CommandedReceiver(personality, world: world, configuration: configuration)
    self.receiver = receiver
    port = try receiver.plugIn()
    let chip = CommandedBench.chip
    line = try LineHistory(of: { chip.level(CommandedBench.power) }, whereUsed: [chip.path, port]) {
      receiver.setPower($0)
    }
    guard hasIMU else {
      (interrupt, relay) = (nil, nil)
      return
    }
    let interrupt = SimulatedInterrupt()
    let imu = SimulatedLSM6DSOX(name: "relay", world: world, interrupt: interrupt) { true }
    self.interrupt = try InterruptWire(
      from: interrupt, to: CommandedBench.ready, witness: CommandedBench.witness, of: chip)
    relay = try I2CRelay(model: imu)
  }

  deinit { relay?.remove() }

  /// - Parameters:
  ///   - power: more of the receiver's `power` in the board file
  ///   - settings: more of the receiver's own
  ///   - sections: more of the board file
  func hub(
    _ driver: String, _ power: String = "", settings: String = "", sections: String = ""
  ) -> HubProcess {
    let chip = CommandedBench.chip.label
    let imu = relay.map {
      """
      imu: { driver: "lsm6dsox", bus: "\($0.path)", address: 0x6A, power: { supplyVolts: 3.3 },
        dataReady: { chip: "\(chip)", line: "\(CommandedBench.ready)" } },
      """
    }
    let text = """
      { name: "bench", devices: { gps: { driver: "\(driver)", port: "\(port)",
        speed: \(receiver.personality.factorySpeed), \(settings) power: { switch: "gpio", chip: "\(chip)",
          line: "\(CommandedBench.power)", settleMilliseconds: 0, \(power) } }, \(imu ?? "") }, \(sections) }
      """
    _ = eventually { !line.isHigh }
    line.restart()
    return HubProcess(board: text, environment: ["SWIFT_BACKTRACE=enable=no"])
  }

  /// Has time go by.
  func wait(until instant: MonotonicInstant) {
    let rest = instant - MonotonicClock().now
    if rest > .zero { _ = Poller(stop: -1).wait(for: nil, atMost: rest) }
  }
}
