import Guarding
import HardwareIO
import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

/// Power lines that cannot be driven, or hang.
@Suite(.timeLimit(.minutes(10)))
struct StubbornLineTests {
  private let hardware = FaultyHardware()
  private let clock = ManualClock()

  /// - Parameter rateHz: the rate of the inertial sensor; `nil` for a board without this sensor
  private func board(imu power: String = "lingerSeconds: 0", rateHz: Int? = 200) throws -> Board {
    let imu = rateHz.map {
      """
      imu: { driver: 'mpu-6050', bus: 'simulated/i2c', rateHz: \($0),
        power: { switch: 'gpio', chip: 'simulated', line: 'imu-power', \(power) } },
      """
    }
    let text = """
      { name: 'x', devices: { \(imu ?? "")
        mag: { driver: 'lis3mdl', bus: 'simulated/i2c',
          power: { switch: 'gpio', chip: 'simulated', line: 'mag-power', lingerSeconds: 0 } } } }
      """
    return try Board(json5: Array(text.utf8), file: "x")
  }

  private func hub(imu: String = "lingerSeconds: 0") throws -> Hub {
    Hub(board: try board(imu: imu), hardware: hardware, clock: clock)
  }

  /// The levels that the line of the inertial sensor was driven to.
  private var levelsOfIMU: [String] { hardware.levels.values.filter { $0.hasPrefix("imu") } }

  private func visit(_ id: String, of hub: Hub) async throws {
    let statuses = Recorder<DeviceStatus.Power>()
    let monitor = try #require(hub.monitors.first { $0.id == id })
    let watching = monitor.changes.subscribe(as: "test", receiveValue: { statuses.append($0.power) })
    let lease = hub.powerLease(of: id).subscribe(as: "test", receiveValue: { _ in })
    _ = await statuses.first { $0 == .tracking }
    lease.cancel()
    watching.cancel()
  }

  private func status(_ id: String, of hub: Hub) throws -> DeviceStatus {
    try #require(hub.devices.first { $0.id == id })
  }

  @Test func `a line that cannot be driven low is not off, and is retried until it is low`() async throws {
    let hub = try hub()
    #expect(hub.makeSafe() == [])
    try await visitWithStubbornLine(hub)
    let stuck = try status("imu", of: hub)
    #expect(stuck.power != .off, "\(stuck.power)")
    #expect(stuck.warning?.contains("could not be switched off") == true, "\(stuck.warning ?? "nothing")")
    #expect(hub.switchProblems.count == 1)
    #expect(hardware.level(of: "imu-power") == true)
    clock.advance(by: .seconds(1))
    #expect(hardware.waits(for: false, of: "imu-power"))
    #expect(hub.monitors[0].changes.waits { $0.power == .off && $0.warning == nil })
    #expect(hub.switchProblems.isEmpty)
    let free = try status("imu", of: hub)
    #expect(free.power == .off && free.warning == nil)
    hub.shutDown()
    await hub.isOff()
  }

  /// Makes a visit after which the line refuses once to go low.
  private func visitWithStubbornLine(_ hub: Hub) async throws {
    let statuses = Recorder<DeviceStatus>()
    let watching = hub.monitors[0].changes.subscribe(as: "test", receiveValue: { statuses.append($0) })
    let lease = hub.powerLease(of: "imu").subscribe(as: "test", receiveValue: { _ in })
    _ = await statuses.first { $0.power == .tracking }
    hardware.set(.refusesLow(times: 1), line: "imu-power")
    lease.cancel()
    _ = await statuses.first { $0.warning != nil }
    await hub.isOff()
    watching.cancel()
  }

  @Test func `the hub retries a line that could not be driven low when it ends`() async throws {
    let hub = try hub()
    try await visitWithStubbornLine(hub)
    #expect(hardware.level(of: "imu-power") == true)
    hub.shutDown()
    #expect(await hub.isOff() == [])
    #expect(hardware.level(of: "imu-power") == false && hub.switchProblems.isEmpty)
  }

  @Test func `a reload retries a line that could not be driven low, and ends the warning about it`() async throws {
    let hub = try hub()
    try await visitWithStubbornLine(hub)
    #expect(try status("imu", of: hub).warning != nil)
    // The clock does not advance here.
    #expect(await hub.apply(try board(rateHz: 100)) == [])
    #expect(hardware.waits(for: false, of: "imu-power"))
    #expect(hub.monitors[0].changes.waits { $0.power == .off && $0.warning == nil }, "\(hub.devices)")
    #expect(hub.switchProblems.isEmpty)
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `the hub retries the line of a device that has left the board file when it ends`() async throws {
    let hub = try hub()
    try await visitWithStubbornLine(hub)
    hardware.set(.refusesLow(times: 1000), line: "imu-power")
    #expect(await hub.apply(try board(rateHz: nil)) == [])
    let isReported = hub.waits {
      hub.switchProblems.first?.hasPrefix("power line simulated/imu-power: it could not be switched off: ") == true
    }
    #expect(isReported, "\(hub.switchProblems)")
    hardware.set(nil, line: "imu-power")
    #expect(hardware.level(of: "imu-power") == true)
    // The clock does not advance here.
    hub.shutDown()
    #expect(await hub.isOff() == [])
    #expect(hardware.level(of: "imu-power") == false && hub.switchProblems.isEmpty, "\(hub.switchProblems)")
  }

  @Test func `a GPIO chip that appears late gets its line driven low`() async throws {
    hardware.set(.missing, line: "imu-power")
    let hub = try hub()
    #expect(hub.makeSafe().count == 1)
    #expect(hub.undrivenLines == ["imu"])
    hardware.set(nil, line: "imu-power")
    clock.advance(by: .seconds(1))
    #expect(hub.waits { hub.undrivenLines == [] })
    #expect(hardware.level(of: "imu-power") == false)
  }

  @Test func `a line that hangs delays neither other devices nor the end of the hub`() async throws {
    hardware.set(.hangs, line: "imu-power")
    let hub = try hub()
    let hung = hub.powerLease(of: "imu").subscribe(as: "hung", receiveValue: { _ in })
    #expect(hardware.hangCounts.waits { $0 == 1 })
    try await visit("mag", of: hub)
    #expect(hardware.waits(for: false, of: "mag-power"))
    #expect(try status("imu", of: hub).power != .tracking)
    let mag = hub.powerLease(of: "mag").subscribe(as: "mag", receiveValue: { _ in })
    #expect(hardware.waits(for: true, of: "mag-power"))
    hung.cancel()
    // Neither call waits for the line.
    hub.shutDown()
    #expect(hardware.waits(for: false, of: "mag-power"))
    hardware.set(nil, line: "imu-power")
    await hub.isOff()
    #expect(hardware.level(of: "imu-power") == false)
    mag.cancel()
  }

  @Test func `a line that hangs on its way low is reported when the hub ends, and delays neither lines nor the end`()
    async throws
  {
    let patience = ManualClock()
    let machine = Machine(hardware: hardware, clock: clock, supervisor: Supervisor(clock: patience))
    let hub = Hub(board: try board(), on: machine)
    let leases = ["imu", "mag"].map { hub.powerLease(of: $0).subscribe(as: "test", receiveValue: { _ in }) }
    for monitor in hub.monitors { #expect(monitor.changes.waits { $0.power == .tracking }) }
    hardware.set(.hangs, line: "imu-power")
    hub.shutDown()
    #expect(hardware.hangCounts.waits { $0 == 1 })
    #expect(hardware.waits(for: false, of: "mag-power"))
    #expect(hub.monitors[1].changes.waits { $0.power == .off })
    let ends = Recorder<[String]>()
    async let _ = { ends.append(await hub.isOff(within: .seconds(4))) }()
    // Two timers are set: for the supervisor's check, and for the limit of `isOff`.
    await patience.sleepers(2)
    patience.run(until: patience.now + .seconds(4))
    #expect(await ends.first(1) == [["imu"]] && hardware.level(of: "imu-power") == true)
    hardware.set(nil, line: "imu-power")
    #expect(hardware.waits(for: false, of: "imu-power"))
    for lease in leases { lease.cancel() }
  }

  @Test func `a supply stays on for its minimum time after a failure, and is used for the next attempt`() async throws {
    let hub = try hub(imu: "lingerSeconds: 0, minimumOnSeconds: 60, minimumOffSeconds: 90")
    let statuses = Recorder<DeviceStatus>()
    let watching = hub.monitors[0].changes.subscribe(as: "test", receiveValue: { statuses.append($0) })
    hardware.simulated.inject(.noAcknowledge, at: 0x68)
    let lease = hub.powerLease(of: "imu").subscribe(as: "test", receiveValue: { _ in })
    for failures in 1...5 {
      _ = await statuses.values { $0.count { $0.power == .failed } >= failures }
      #expect(hardware.levels.values.filter { $0.hasPrefix("imu") } == ["imu-power true"])
      // Two timers are set: for the next attempt, and for the end of the minimum time on. The pauses double.
      await clock.sleepers(2)
      clock.advance(by: .milliseconds(250 << (failures - 1)))
    }
    hardware.simulated.inject(nil, at: 0x68)
    #expect(hardware.levels.values.filter { $0.hasPrefix("imu") } == ["imu-power true"])
    lease.cancel()
    watching.cancel()
    hub.shutDown()
    await hub.isOff()
    #expect(hardware.level(of: "imu-power") == false)
  }

  @Test func `without a minimum time on, a device that fails switches its supply at growing intervals`() async throws {
    let hub = try hub()
    hardware.simulated.inject(.noAcknowledge, at: 0x68)
    let lease = hub.powerLease(of: "imu").subscribe(as: "test", receiveValue: { _ in })
    let pauses = [250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]
    for (index, milliseconds) in pauses.enumerated() {
      // Only the next attempt waits for the clock.
      await clock.sleepers(1)
      #expect(levelsOfIMU == (0...index).flatMap { _ in ["imu-power true", "imu-power false"] })
      clock.advance(by: .milliseconds(milliseconds - 1))
      #expect(clock.waitingCount == 1, "the attempt came before \(milliseconds) ms")
      clock.advance(by: .milliseconds(1))
    }
    await clock.sleepers(1)
    lease.cancel()
    hub.shutDown()
    await hub.isOff()
    #expect(hardware.level(of: "imu-power") == false)
  }

  @Test func `a device that another program uses gets no supply until it is free`() async throws {
    let hub = try hub()
    hardware.setInUse(true, at: 0x68)
    let lease = hub.powerLease(of: "imu").subscribe(as: "test", receiveValue: { _ in })
    for _ in 0..<20 {
      await clock.sleepers(1)
      clock.advance(by: .seconds(5))
    }
    await clock.sleepers(1)
    let failed = try status("imu", of: hub)
    #expect(failed.power == .failed && failed.reason.contains("in use"), "\(failed)")
    #expect(levelsOfIMU.isEmpty)
    hardware.setInUse(false, at: 0x68)
    clock.advance(by: .seconds(5))
    #expect(hub.monitors[0].changes.waits { $0.power == .tracking })
    #expect(levelsOfIMU == ["imu-power true"])
    lease.cancel()
    hub.shutDown()
    await hub.isOff()
  }

  /// Wakes the inertial sensor for two seconds of its minimum time on.
  private func wakeForTwoSeconds(_ hub: Hub) throws -> Subscription {
    let lease = hub.powerLease(of: "imu").subscribe(as: "test", receiveValue: { _ in })
    #expect(hub.monitors[0].changes.waits { $0.power == .tracking })
    clock.advance(by: .seconds(2))
    return lease
  }

  @Test func `a reload that changes a device does not shorten its supply's minimum time on`() async throws {
    let power = "lingerSeconds: 0, minimumOnSeconds: 6"
    let hub = try hub(imu: power)
    let lease = try wakeForTwoSeconds(hub)
    #expect(await hub.apply(try board(imu: power, rateHz: 100)) == [])
    // The new reader uses the same supply.
    #expect(hub.monitors[0].changes.waits { $0.power == .tracking })
    #expect(levelsOfIMU == ["imu-power true"])
    lease.cancel()
    clock.advance(by: .milliseconds(3999))
    #expect(levelsOfIMU == ["imu-power true"])
    clock.advance(by: .seconds(6))
    #expect(hardware.waits(for: false, of: "imu-power"))
    hub.shutDown()
    await hub.isOff()
  }

  @Test(arguments: [false, true])
  func `a supply stays on for its minimum time if its device leaves the board file, unless the hub ends`(_ ends: Bool)
    async throws
  {
    let hub = try hub(imu: "lingerSeconds: 0, minimumOnSeconds: 6")
    let lease = try wakeForTwoSeconds(hub)
    #expect(await hub.apply(try board(rateHz: nil)) == [])
    #expect(levelsOfIMU == ["imu-power true"])
    if !ends {
      clock.advance(by: .milliseconds(3999))
      #expect(levelsOfIMU == ["imu-power true"])
      clock.advance(by: .milliseconds(1))
      #expect(hardware.waits(for: false, of: "imu-power"))
    }
    hub.shutDown()
    await hub.isOff()
    #expect(levelsOfIMU == ["imu-power true", "imu-power false"])
    lease.cancel()
  }
}
