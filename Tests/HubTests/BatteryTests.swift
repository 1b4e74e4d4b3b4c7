import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Hub

/// The battery of a board: its section in the board file, and a hub that measures it with a simulated INA226.
@Suite(.timeLimit(.minutes(10)))
struct BatteryTests {
  private static let meter = "meter: { driver: 'ina226', bus: 'simulated/i2c', rateHz: 29"

  private func board(_ battery: String, meter: String = BatteryTests.meter + " }", gps: String = "") throws -> Board {
    try Board(json5: Array("{ name: 'x', devices: { \(gps)\(meter) },\n battery: \(battery) }".utf8), file: "board")
  }

  @Test func `a battery has two limits, and steps between them`() throws {
    let steps = "[{ everySeconds: 300 }, { everySeconds: 3600, accuracyMetres: 50 }]"
    let battery = try #require(
      try board("{ monitor: 'meter', low: 12, critical: 11.5, hysteresis: 0.3, whenShort: \(steps) }").battery)
    #expect(
      battery
        == BatterySettings(
          monitor: "meter", lowVolts: 12, criticalVolts: 11.5, hysteresisVolts: 0.3,
          steps: [Degradation(every: .seconds(300)), Degradation(every: .seconds(3600), accuracyMetres: 50)]))
    #expect(battery.stepVolts == [12, 11.75])
    #expect(
      battery.description == "meter: below 12 V fixes come at most every 300 s; "
        + "below 11.75 V fixes come at most every 3600 s, with an accuracy of 50 m; "
        + "below 11.5 V for 30 s the board shuts down, but not in the first 300 s")
    let plain = try #require(try board("{ monitor: 'meter', low: 12 }").battery)
    #expect(plain.description == "meter: below 12 V there is a warning")
    #expect(abs(plain.hysteresisVolts - 0.24) < 1e-9 && plain.grace == .seconds(30) && plain.every == .seconds(60))
    #expect(plain.afterStart == .seconds(300))
    #expect(try board("null").battery == nil)
  }

  @Test(arguments: [
    ("{ low: 12 }", "board:2: 'battery.monitor' is missing"),
    ("{ monitor: 'meter' }", "board:2: 'battery.low' is missing"),
    ("{ monitor: 'gps', low: 12 }", "board:2: 'battery.monitor' must be a supply monitor: meter"),
    ("{ monitor: 'meter', low: 12, critical: 12 }", "board:2: 'battery.critical' must be less than 'low'"),
    ("{ monitor: 'meter', low: 0 }", "'battery.low' must be a number from 0.1 to 100"),
    ("{ monitor: 'meter', low: 12, hysteresis: 0 }", "'battery.hysteresis' must be a number from 0.01 to 20"),
    ("{ monitor: 'meter', low: 12, grace: 0 }", "'battery.grace' must be a number from 1 to 3600"),
    ("{ monitor: 'meter', low: 12, afterStart: -1 }", "'battery.afterStart' must be a number from 0 to 86400"),
    ("{ monitor: 'meter', low: 12, every: 1 }", "'battery.every' must be a number from 5 to 3600"),
    ("{ monitor: 'meter', low: 12, whenShort: {} }", "'battery.whenShort.everySeconds' is missing"),
    ("{ monitor: 'meter', low: 12, whenLow: [] }", "unknown key 'battery.whenLow'"),
  ])
  func `a mistake in the section is reported with its line, its key and the valid values`(
    _ battery: String, _ message: String
  ) {
    let error = #expect(throws: BoardError.self) { try board(battery) }
    #expect(error?.description.contains(message) == true, "\(String(describing: error))")
  }

  @Test func `the supply of a battery has only one limit`() throws {
    let error = #expect(throws: BoardError.self) {
      try board("{ monitor: 'meter', low: 12 }", meter: BatteryTests.meter + ", lowVolts: 11 }")
    }
    #expect(error?.description.contains("'devices.meter.lowVolts' must be left out") == true)
  }

  @Test func `a section without an effect, or with limits that are too close, is a warning`() throws {
    func warnings(_ battery: String) throws -> [String] { BoardWarnings.battery(of: try board(battery)) }
    #expect(try warnings("{ monitor: 'meter', low: 12 }").map { $0.hasPrefix("battery: it only warns") } == [true])
    #expect(try warnings("{ monitor: 'meter', low: 12, critical: 11.9 }").count == 1)
    #expect(try warnings("{ monitor: 'meter', low: 12, critical: 11.5 }").isEmpty)
  }

  /// The open voltage of the simulated supply is 3.3 V, and each ampere lowers it by 0.15 V. The INA226 measures at most
  /// 0.8 A at the shunt of 0.1 Ω.
  private let settings =
    "{ monitor: 'meter', low: 3.27, critical: 3.22, hysteresis: 0.01, grace: 1, every: 5, afterStart: 0, "
    + "whenShort: { everySeconds: 300 } }"

  private static let gps =
    "gps: { driver: 'nmea', port: 'simulated/gps', power: { switch: 'gpio', chip: 'simulated', line: 'gps-power', "
    + "lingerSeconds: 0 } }, "

  // `Hub.waits` cannot miss a level or its effects: the level changes before the lease of the measurement ends, which
  // changes the monitor's status, and after five seconds the next measurement changes it again.

  private func status(_ hub: Hub, _ id: String = "meter") -> DeviceStatus? { hub.devices.first { $0.id == id } }

  @Test func `a low battery relaxes requests until it has recovered, and the monitor sleeps in between`() async throws {
    let hardware = SimulatedHardware()
    let hub = Hub(board: try board(settings, gps: BatteryTests.gps), hardware: hardware)
    let client = hub.fixes(on: Schedule(every: .seconds(60))).subscribe(as: "log", receiveValue: { _ in })
    #expect(hub.battery.level == nil && hub.battery.degradation == .none)
    hub.battery.begin(on: hub)
    #expect(hub.waits { hub.battery.level == .normal })
    #expect(hub.waits { status(hub)?.power == .asleep })
    hardware.gpsSupply.load("drain", amperes: 0.3)
    #expect(hub.waits { hub.battery.level == .low(limit: 1) })
    #expect(hub.waits { hub.degradation == Degradation(every: .seconds(300)) })
    #expect(
      hub.waits { status(hub)?.warning?.hasSuffix("V of at least 3.27 V: fixes come at most every 300 s") == true })
    #expect(hub.monitors.first { $0.id == "meter" }?.alarms.reported[.supply] != nil)
    #expect(hub.waits { status(hub, "gps")?.schedules.first?.degraded?.every == .seconds(300) })
    hardware.gpsSupply.load("drain", amperes: 0)
    #expect(hub.waits { hub.battery.level == .normal })
    #expect(hub.waits { hub.degradation == .none })
    #expect(hub.waits { status(hub)?.warning == nil && status(hub, "gps")?.schedules.first?.degraded == nil })
    client.cancel()
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `an empty battery asks for a shutdown, and a monitor that fails does not`() async throws {
    let hardware = SimulatedHardware()
    let hub = Hub(board: try board(settings), hardware: hardware)
    let events = Recorder<BatteryMonitor.Event>()
    let listening = hub.battery.events.subscribe(as: "test", receiveValue: { events.append($0) })
    // The monitor does not answer.
    hardware.inject(.noAcknowledge, at: 0x40)
    hardware.gpsSupply.load("drain", amperes: 0.7)
    hub.battery.begin(on: hub)
    #expect(hub.waits { status(hub)?.power == .failed })
    #expect(hub.battery.level == nil)
    hardware.inject(nil, at: 0x40)
    #expect(events.waits { !$0.isEmpty })
    guard case .shutDown(let text, "meter", let isReal) = events.values[0] else {
      Issue.record("\(events.values)")
      return
    }
    #expect(text.hasPrefix("the battery is empty, 3.") && text.hasSuffix("V of at least 3.22 V") && !isReal, "\(text)")
    #expect(hub.battery.mustShutDown)
    hub.battery.shutDownRefused(because: "an update is being installed")
    #expect(
      hub.waits { status(hub)?.warning?.hasSuffix(": the board stays on: an update is being installed") == true })
    // The next board has no battery.
    await hub.apply(try board("null"))
    #expect(hub.battery.level == nil && hub.battery.degradation == .none)
    #expect(hub.waits { status(hub)?.warning == nil })
    listening.cancel()
    hub.shutDown()
    await hub.isOff()
  }

  @Test(arguments: [false, true])
  func `a board that its alarm has started shuts down at once if its battery is empty`(_ isEarly: Bool) async throws {
    let hardware = SimulatedHardware()
    let hub = Hub(
      board: try board("{ monitor: 'meter', low: 3.27, critical: 3.22, hysteresis: 0.01, grace: 1, every: 5 }"),
      hardware: hardware)
    let events = Recorder<BatteryMonitor.Event>()
    let listening = hub.battery.events.subscribe(as: "test", receiveValue: { events.append($0) })
    hardware.gpsSupply.load("drain", amperes: 0.7)
    if isEarly { hub.battery.wasWokenByAlarm() }
    hub.battery.begin(on: hub)
    if !isEarly { hub.battery.wasWokenByAlarm() }
    #expect(events.waits { $0.contains { if case .shutDown = $0 { true } else { false } } })
    listening.cancel()
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `regular measurements of the battery do not keep the board awake, but a client of the monitor does`()
    async throws
  {
    let hub = Hub(board: try board(settings), hardware: SimulatedHardware())
    hub.battery.begin(on: hub)
    #expect(hub.waits { hub.battery.level == .normal })
    #expect(hub.waits { status(hub)?.power == .asleep })
    let needs = Recorder<[String]>()
    let watch = hub.observeBoardSituation { needs.append(hub.boardSituation.needs) }
    let wakes = status(hub)?.wakes ?? 0
    #expect(hub.waits { (status(hub)?.wakes ?? 0) > wakes && status(hub)?.power == .asleep })
    let isIdle = needs.values.allSatisfy { $0.isEmpty }
    #expect(isIdle, "\(needs.values)")
    watch.cancel()
    let client = hub.powerLease(of: "meter").subscribe(as: "test", receiveValue: { _ in })
    #expect(hub.waits { hub.boardSituation.needs == ["test holds meter"] })
    client.cancel()
    hub.shutDown()
    await hub.isOff()
  }
}
