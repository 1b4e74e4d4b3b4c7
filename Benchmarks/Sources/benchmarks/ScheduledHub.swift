import Glibc
import Guarding
import HardwareIO
import Hub
import MonotonicTime
import Publishing
import Simulation

/// A whole hub with a receiver whose supply is a line. The clock advances from one event to the next. It may also
/// have a simulated inertial sensor.
final class ScheduledHub {
  struct Wiring: Hardware {
    let receiver: ScheduledReceiver
    let simulated: SimulatedHardware

    func i2cBus(_ name: String) throws(HardwareError) -> any I2CBus { try simulated.i2cBus(name) }

    func serialPort(_ name: String, speed: BaudRate) throws(HardwareError) -> any SerialPort {
      ScheduledReceiver.Port(receiver)
    }

    func gpioOutput(_ name: GPIOLineName, activeLow: Bool) throws(HardwareError) -> any GPIOOutput {
      if name.chip == "receiver" { return ScheduledReceiver.Line(receiver: receiver) }
      return try simulated.gpioOutput(name, activeLow: activeLow)
    }

    func gpioEdges(_ name: GPIOLineName, falling: Bool) throws(HardwareError) -> any GPIOEdgeInput {
      try simulated.gpioEdges(name, falling: falling)
    }
  }

  /// The hub's threads need less than this for their work at one instant.
  private static let patienceSeconds = 60.0
  private static let second: Int64 = 1_000_000_000

  let clock: ManualClock
  let hub: Hub
  private let receiver: ScheduledReceiver
  private let wiring: Wiring
  private let demand: ScheduledDemand
  private let began: MonotonicInstant

  /// `nil` if the board file is invalid.
  init?(_ demand: ScheduledDemand, _ kind: PowerReceiver) {
    let clock = ManualClock()
    let began = clock.now
    var world = World(start: began)
    if let standing = demand.standing {
      let days = (0..<7).map { Double($0) * ScheduledDemand.day }
      world.parked = days.map { $0 + standing.lowerBound..<$0 + standing.upperBound }
    }
    let swing = demand.swingMetres
    let simulated = SimulatedHardware(clock: clock, world: world)
    let isOnRoad = demand.standing != nil
    receiver = ScheduledReceiver(
      kind, clock: clock, fixIndex: { demand.fixIndex(startedAt: $0, since: began) },
      journey: { [world] instant in
        if isOnRoad {
          let truth = world.truth(at: instant)
          return (
            SIMD2(truth.positionMetres.x, truth.positionMetres.y),
            SIMD2(truth.velocityMetresPerSecond.x, truth.velocityMetresPerSecond.y)
          )
        }
        return ScheduledHub.swing(swing, at: instant.seconds(since: began))
      })
    wiring = Wiring(receiver: receiver, simulated: simulated)
    let sensor =
      "imu: { driver: 'lsm6dsox', bus: 'simulated/i2c', address: 0x6A, power: { supplyVolts: 3.3 }, "
      + "dataReady: { chip: 'simulated', line: 'lsm6dsox-int1' } }"
    let text =
      "{ name: 'power', devices: { gps: { driver: 'nmea', port: 'receiver', speed: 9600, power: { switch: 'gpio', "
      + "chip: 'receiver', line: 'supply', currentMilliamperes: \(PowerReceiver.milliamperes), "
      + "supplyVolts: \(PowerReceiver.volts), linger: 'learned' } }\(isOnRoad ? ", " + sensor : "") } }"
    guard let board = try? Board(json5: Array(text.utf8), file: "power") else { return nil }
    hub = Hub(board: board, hardware: wiring, clock: clock)
    self.demand = demand
    self.clock = clock
    self.began = began
  }

  /// The boat swings around its anchor with a period of ten minutes.
  private static func swing(_ metres: Double, at seconds: Double) -> (place: SIMD2<Double>, velocity: SIMD2<Double>) {
    let rate = 2 * Double.pi / 600
    let (across, along) = (sin(rate * seconds), sin(2 * rate * seconds))
    return (
      SIMD2(metres / 4 * along, metres * across),
      SIMD2(metres / 2 * rate * cos(2 * rate * seconds), metres * rate * cos(rate * seconds))
    )
  }

  /// The energy of all devices in joules.
  var joules: Double { hub.devices.reduce(0) { $0 + $1.energyMilliwattHours } * 3.6 }

  /// Advances the clock, with an epoch at each whole second while the receiver is awake.
  func pass(seconds: Double) {
    settle()
    let end = began + .nanoseconds(Int64(seconds * 1e9))
    while clock.now < end {
      let next = min(nextInstant, end)
      clock.run(until: max(next, clock.now + .microseconds(1)))
      settle()
      guard receiver.poweredAt != nil, clock.now.nanoseconds % ScheduledHub.second == 0 else { continue }
      receiver.report()
      wait { receiver.isHeard }
      settle()
    }
  }

  /// Switches the receiver off and ends the hub.
  func end() {
    hub.shutDown()
    wait { receiver.poweredAt == nil }
  }

  /// The next instant at which an event may occur.
  private var nextInstant: MonotonicInstant {
    let now = clock.now
    var instants: [MonotonicInstant] = []
    if let poweredAt = receiver.poweredAt {
      instants.append(MonotonicInstant(nanoseconds: (now.nanoseconds / ScheduledHub.second + 1) * ScheduledHub.second))
      // The hub gives up at this instant.
      if let limit = demand.schedule?.within { instants.append(poweredAt + limit) }
    }
    if phase != .running {
      let status = hub.devices[0]
      instants += status.schedules.map { $0.wake ?? $0.due }
      if let until = status.lingersUntil { instants.append(until) }
    }
    if let standing = demand.standing {
      // Motion may be detected at any time.
      let elapsed = now.seconds(since: began)
      let day = (elapsed / ScheduledDemand.day).rounded(.down) * ScheduledDemand.day
      instants.append(
        standing.contains(elapsed - day)
          ? began + .nanoseconds(Int64((day + standing.upperBound) * 1e9)) : now + .seconds(5))
    }
    return instants.filter { $0 > now }.min() ?? now + .seconds(1)
  }

  private var phase: SourceActivity.Phase? { hub.receiver?.device.source.activity.value.phase }

  /// Waits until the hub's threads have finished their work at the present instant.
  private func settle() {
    // Wait for a moment, because the motion detector may be about to report, and nothing shows that.
    if demand.standing != nil { pause(seconds: 0.001) }
    wait { isSettled }
  }

  private var isSettled: Bool {
    let phase = phase
    switch phase {
    case .running, .lingering: guard receiver.poweredAt != nil, receiver.isAwaited else { return false }
    case .idle: guard receiver.poweredAt == nil else { return false }
    default: return false
    }
    // Without a sensor thread, only the reader's thread acts, and it is waiting.
    if phase == .running, demand.standing == nil { return true }
    let (now, schedules) = (clock.now, hub.devices[0].schedules)
    let isAwake = schedules.contains { $0.reason.hasPrefix("awake, ") }
    if isAwake != (phase == .running) { return false }
    let stands = schedules.contains { $0.reason.hasPrefix("nothing has moved") }
    if stands, wiring.simulated.lsm6dsoxInterrupt.isHigh { return false }
    return schedules.allSatisfy { $0.reason.hasPrefix("awake, ") || ($0.wake ?? $0.due) > now }
  }

  private func wait(_ condition: () -> Bool) {
    // This usually takes microseconds.
    for _ in 0..<100 {
      if condition() { return }
      sched_yield()
    }
    let began = MonotonicClock().now
    while !condition() {
      if MonotonicClock().now.seconds(since: began) > ScheduledHub.patienceSeconds {
        print("\(demand.name): the hub does not come to rest: \(hub.devices[0])")
        exit(1)
      }
      usleep(20)
    }
  }
}
