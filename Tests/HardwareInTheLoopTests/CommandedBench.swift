import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import VirtualBench

/// A receiver that understands commands, on a kernel tty and supplied by a kernel line, and a hub with no other
/// device except, optionally, an inertial sensor that waits for motion.
///
/// Between the hub's actions this costs almost nothing, so that hours can be simulated. This does not hold if the
/// process also uses `Bench.board`, which reads its lines continuously.
final class CommandedBench: Sendable {
  private static let (power, ready, witness) = ("power", "ready", "witness")

  /// Shared by consecutive benches.
  private static let chip: GPIOSimulator = {
    do {
      return try GPIOSimulator(label: "commanded", lineNames: [power, ready, witness])
    } catch {
      fatalError("the bench has no GPIO chip: \(error)")
    }
  }()

  let receiver: CommandedReceiver
  let line: LineHistory
  /// The interrupt of the inertial sensor, if there is one.
  let interrupt: InterruptWire?
  private let relay: I2CRelay?
  private let port: String

  /// - Parameters:
  ///   - timeToFirstFixScale: a factor for the published times
  ///   - world: the world in which both devices are
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
  ///   - power: additional keys of the receiver's `power` in the board file
  ///   - settings: additional keys of the receiver
  ///   - sections: additional sections of the board file
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

  /// Waits until an instant.
  func wait(until instant: MonotonicInstant) {
    let rest = instant - MonotonicClock().now
    if rest > .zero { _ = Poller(stop: -1).wait(for: nil, atMost: rest) }
  }
}
