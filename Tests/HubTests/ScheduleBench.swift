import Devices
import Guarding
import HardwareIO
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Hub

/// A hub with a receiver whose supply is a line and whose first fix is a poor one, with a clock that the test moves,
/// and clients with scheduled fixes. It may have a simulated inertial sensor.
final class ScheduleBench {
  struct Got: Sendable {
    var fix: RequestedFix
    var at: MonotonicInstant
  }

  let clock: ManualClock
  let wire: Wire
  let machine: Machine
  private(set) var hub: Hub
  /// The time from the start to the first fix in whole seconds. Two seconds later the accuracy is at its best.
  var seconds = 4
  /// The best dilution of precision, which is multiplied by 12.2 m.
  var bestDilution = 0.6
  /// The position in metres north of 52°31' and east of 13°22'.
  var metres: (MonotonicInstant) -> SIMD2<Double> = { _ in .zero }
  /// Further conditions that must hold before the clock advances.
  var isAtRest: () -> Bool = { true }
  private let terminal = PseudoTerminal()
  /// The number of epochs that were sent and not counted.
  private var lost = 0
  private var poweredAt: MonotonicInstant?

  /// The board file's keys for the receiver's idle timeout.
  private var idleTimeout: String
  /// The board file's keys for the receiver's currents.
  private var draw = ScheduleBench.usualDraw
  /// The board file's keys for the inertial sensor, if there is one.
  private var imu: String?
  /// The board file's further keys for the receiver's power.
  private var power: String
  /// The board file's other sections.
  private let others: String
  /// Whether the board file has a missing receiver before this one.
  private let isSecond: Bool
  private let parked: Range<Double>?
  private let began: MonotonicInstant

  private static let usualDraw = "currentMilliamperes: 100, supplyVolts: 3.6"

  private static func board(
    _ name: String, _ idleTimeout: String, _ draw: String, _ imu: String?, _ power: String, _ others: String,
    isSecond: Bool
  ) throws -> Board {
    let absent = isSecond ? "absent: { driver: 'nmea', port: '/dev/absent', power: { switch: 'none' } }, " : ""
    let text =
      "{ name: '\(name)', devices: { \(absent)gps: { driver: 'nmea', port: '/dev/gps', speed: 9600, power: { switch: "
      + "'gpio', "
      + "chip: 'c', line: 'l', \(draw), \(idleTimeout)\(power.isEmpty ? "" : ", \(power)") } }"
      + (imu.map { ", imu: { driver: 'lsm6dsox', bus: 'simulated/i2c', address: 0x6A, \($0) }" } ?? "")
      + (others.isEmpty ? "" : ", \(others)") + " } }"
    return try Board(json5: Array(text.utf8), file: name)
  }

  /// - Parameters:
  ///   - imu: the keys of an inertial sensor to add
  ///   - power: further keys for the receiver's power
  ///   - others: further devices to add
  ///   - isSecond: whether to add a missing receiver before this one
  ///   - parked: the seconds from now in which the simulated vehicle stands still
  ///   - simulated: the hardware of the chips; `nil` for hardware with the bench's clock. Chips with another clock take
  ///     no time by the bench's clock
  ///   - instant: the instant at which the test begins
  init(
    lingerSeconds: Int = 20, restoring usageHistories: [UInt8]? = nil, imu: String? = nil, power: String = "",
    others: String = "", isSecond: Bool = false, parked: Range<Double>? = nil, simulated: SimulatedHardware? = nil,
    from instant: MonotonicInstant = ManualClock().now
  ) throws {
    idleTimeout = "lingerSeconds: \(lingerSeconds)"
    self.imu = imu
    self.power = power
    self.others = others
    self.isSecond = isSecond
    self.parked = parked
    clock = ManualClock(now: instant)
    began = clock.now
    var world = World(start: clock.now)
    if let parked { world.parked = [parked] }
    wire = Wire(terminal.path, simulated ?? SimulatedHardware(clock: clock, world: world), clock)
    // The system time is in the first hours of a UTC day.
    machine = Machine(
      hardware: wire, clock: clock,
      systemTime: { [clock] in 1_795_478_400_000_000_000 + Int64(clock.now.nanoseconds) })
    if let usageHistories { try machine.usageHistories.restore(usageHistories, file: "power.json") }
    hub = Hub(
      board: try ScheduleBench.board("x", idleTimeout, draw, imu, power, others, isSecond: isSecond), on: machine)
  }

  var status: DeviceStatus { hub.devices[isSecond ? 1 : 0] }
  private var reader: DeviceReader<GNSSObservation>? { hub.receivers.candidates.last?.reader.device }
  var isHigh: Bool { wire.state.withLock { $0.isHigh } }
  var rises: Int { wire.state.withLock { $0.rises } }

  func subscribe(_ name: String, _ schedule: Schedule, _ got: Recorder<Got>) -> Subscription {
    let lease = hub.fixes(on: schedule).subscribe(
      as: .client(name), receiveValue: { [clock] in got.append(Got(fix: $0, at: clock.now)) })
    settle()
    return lease
  }

  /// Waits until the receiver's reader and supply have followed the plan.
  func settle() {
    // Motion must have been reported to the clients before the time advances.
    #expect(
      hub.waits {
        guard wire.simulated.lsm6dsoxInterrupt.isHigh else { return true }
        if case .still = hub.registry.value.motion?.stillness.latest { return false }
        return !status.schedules.contains { $0.reason.hasPrefix("the board has not moved") }
      })
    #expect(
      hub.waits {
        let status = status
        // Another thread may carry out the plan's decisions.
        let isToBeAwake = status.schedules.contains { $0.reason.hasPrefix("awake, ") }
        guard hub.fixPlanner.areUnderWay == isToBeAwake else { return false }
        switch reader?.source.activity.value.phase {
        case .idle: return !isToBeAwake && (!isHigh || status.reason.hasPrefix("supplied for "))
        case .lingering: return isHigh
        case .running: return (status.power == .acquiring || status.power == .tracking) && !status.holders.isEmpty
        case .failed: return true
        default: return false
        }
      })
    #expect(hub.waits { isAtRest() }, "\(hub.devices)")
    if !isHigh { poweredAt = nil } else if poweredAt == nil { poweredAt = clock.now }
  }

  /// Advances the time, with an epoch at each whole second at which the receiver is awake.
  func pass(_ duration: Int) {
    let end = clock.now + .seconds(Int64(duration))
    while clock.now < end {
      let second = clock.now.nanoseconds / 1_000_000_000 + 1
      if isHigh {
        clock.run(until: min(end, MonotonicInstant(nanoseconds: second * 1_000_000_000)))
        settle()
        if clock.now.nanoseconds == second * 1_000_000_000 { report() }
      } else {
        // The clock runs to the next event, if that is before the end.
        runToNextWake(end)
      }
    }
  }

  private func runToNextWake(_ end: MonotonicInstant) {
    var next = [status.schedules.compactMap { $0.wake ?? $0.due }.min(), end].compactMap { $0 }.min() ?? end
    // Another thread may raise the line for a holder of another device. That holder must not be charged for skipped
    // time.
    if !others.isEmpty { next = min(next, clock.now + .seconds(1)) }
    if let parked {
      // While the board moves, motion may be reported at any time.
      let elapsed = clock.now.seconds(since: began)
      next = min(
        next,
        parked.contains(elapsed) ? began + .nanoseconds(Int64(parked.upperBound * 1e9)) : clock.now + .seconds(10))
    }
    clock.run(until: max(min(next, end), min(end, clock.now + .milliseconds(10))))
    settle()
  }

  private func report() {
    guard let poweredAt, isListenedTo else { return }
    let epochs = epochCount
    let age = clock.now.seconds(since: poweredAt)
    let dilution =
      age < Double(seconds) ? nil : age < Double(seconds + 1) ? 8.0 : age < Double(seconds + 2) ? 3.0 : bestDilution
    let second = Int(clock.now.nanoseconds / 1_000_000_000) % 86_400
    func two(_ number: Int) -> String { (number < 10 ? "0" : "") + "\(number)" }
    let time = two(second / 3600) + two(second / 60 % 60) + two(second % 60) + ".00"
    if let dilution {
      // A minute of latitude is 1854.5 m at this place, and a minute of longitude 1131.2 m.
      let metres = metres(clock.now)
      func minutes(_ whole: Int, _ part: Double) -> String {
        let parts = whole * 10_000 + Int((10_000 * part).rounded())
        return "\(parts / 10_000)." + "\(10_000 + parts % 10_000)".dropFirst()
      }
      let place = "\(minutes(5231, metres.x / 1854.5)),N,0\(minutes(1322, metres.y / 1131.2)),E"
      terminal.write(
        nmeaLine("GPGGA,\(time),\(place),1,08,\(dilution),34.0,M,45.0,M,,")
          + nmeaLine("GPRMC,\(time),A,\(place),0.0,,211126,,,A"))
    } else {
      terminal.write(
        nmeaLine("GPGGA,\(time),,,,,0,00,99.9,,M,,M,,") + nmeaLine("GPRMC,\(time),V,,,,,,,211126,,,N"))
    }
    // An epoch that the receiver sends while it is being switched off is lost, at most one each time.
    #expect(hub.waits { epochCount > epochs || !isListenedTo && reader?.source.activity.value.phase != .failed })
    if epochCount == epochs { lost += 1 }
    #expect(lost <= rises)
    settle()
  }

  private var epochCount: Int { status.counters.first { $0.name == "epochs" }?.value ?? 0 }

  private var isListenedTo: Bool {
    guard reader?.source.activity.value.phase != .idle else { return false }
    let power = status.power
    return power == .acquiring || power == .tracking || power == .lingering
  }

  /// Writes a board file that changes the receiver's power settings, or the keys of the inertial sensor.
  func write(idleTimeout: String? = nil, draw: String? = nil, power: String? = nil, imu: String? = nil) {
    self.imu = imu ?? self.imu
    self.idleTimeout = idleTimeout ?? self.idleTimeout
    self.draw = draw ?? self.draw
    self.power = power ?? self.power
  }

  /// Reloads the board file as the program does.
  func reload() async throws {
    await hub.apply(try ScheduleBench.board("y", idleTimeout, draw, imu, power, others, isSecond: isSecond))
    settle()
  }

  func end() async {
    hub.shutDown()
    await hub.isOff()
    #expect(!isHigh)
  }
}

extension ScheduleBench {
  /// A receiver on a pseudo-terminal whose supply is a line. The rest is simulated.
  final class Wire: Hardware {
    struct State {
      var isHigh = false
      var rises = 0
      var raisedAt: MonotonicInstant?
      /// The total time with a high line in seconds, without the present one.
      var highSeconds = 0.0
      /// Whether no receiver is plugged in.
      var isMissing = false
    }

    let state = Guarded(State())
    let simulated: SimulatedHardware
    private let path: String
    private let clock: ManualClock

    /// The current through the line while it is high, by the simulated supply monitor.
    static let amperes = 0.3

    init(_ path: String, _ simulated: SimulatedHardware, _ clock: ManualClock) {
      self.path = path
      self.simulated = simulated
      self.clock = clock
    }

    /// The total time with a high line in seconds.
    var highSeconds: Double {
      state.withLock { $0.highSeconds + ($0.raisedAt.map { clock.now.seconds(since: $0) } ?? 0) }
    }

    private struct Line: GPIOOutput {
      let wire: Wire

      func set(_ level: Bool) {
        wire.simulated.gpsSupply.load("line", amperes: level ? Wire.amperes : 0)
        wire.state.withLock { state in
          guard level != state.isHigh else { return }
          let now = wire.clock.now
          if level { state.rises += 1 }
          state.highSeconds += state.raisedAt.map { now.seconds(since: $0) } ?? 0
          (state.isHigh, state.raisedAt) = (level, level ? now : nil)
        }
      }

      func close() { set(false) }
    }

    func i2cBus(_ name: String) throws(HardwareError) -> any I2CBus { try simulated.i2cBus(name) }

    func serialPort(_ name: String, speed: BaudRate) throws(HardwareError) -> any SerialPort {
      if name == "/dev/absent" || state.withLock({ $0.isMissing }) { throw .notFound(name) }
      return try LinuxSerialPort(path, speed: speed)
    }

    func gpioOutput(_ name: GPIOLineName, activeLow: Bool) throws(HardwareError) -> any GPIOOutput {
      if name.chip == "c" { return Line(wire: self) }
      return try simulated.gpioOutput(name, activeLow: activeLow)
    }

    func gpioEdges(_ name: GPIOLineName, falling: Bool) throws(HardwareError) -> any GPIOEdgeInput {
      try simulated.gpioEdges(name, falling: falling)
    }
  }
}
