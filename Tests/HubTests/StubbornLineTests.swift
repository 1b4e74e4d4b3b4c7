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

  private func hub(imu: String = "lingerSeconds: 0") throws -> Hub {
    let text = """
      { name: 'x', devices: {
        imu: { driver: 'mpu-6050', bus: 'simulated/i2c',
          power: { switch: 'gpio', chip: 'simulated', line: 'imu-power', \(imu) } },
        mag: { driver: 'lis3mdl', bus: 'simulated/i2c',
          power: { switch: 'gpio', chip: 'simulated', line: 'mag-power', lingerSeconds: 0 } } } }
      """
    return Hub(board: try Board(json5: Array(text.utf8), file: "x"), hardware: hardware, clock: clock)
  }

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

  @Test func `a GPIO chip that appears late gets its line driven low`() async throws {
    hardware.set(.missing, line: "imu-power")
    let hub = try hub()
    #expect(hub.makeSafe().count == 1)
    #expect(hub.undrivenLines == ["imu"])
    hardware.set(nil, line: "imu-power")
    clock.advance(by: .seconds(1))
    #expect(eventually { hub.undrivenLines == [] })
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

  @Test func `a supply stays on for its minimum time after a failure, and is used for the next attempt`() async throws {
    let hub = try hub(imu: "lingerSeconds: 0, minimumOnSeconds: 60, minimumOffSeconds: 90")
    let statuses = Recorder<DeviceStatus>()
    let watching = hub.monitors[0].changes.subscribe(as: "test", receiveValue: { statuses.append($0) })
    hardware.simulated.inject(.noAcknowledge, at: 0x68)
    let lease = hub.powerLease(of: "imu").subscribe(as: "test", receiveValue: { _ in })
    for failures in 1...5 {
      _ = await statuses.values { $0.count { $0.power == .failed } >= failures }
      #expect(hardware.levels.values.filter { $0.hasPrefix("imu") } == ["imu-power true"])
      // Advance the clock until the next attempt.
      #expect(
        eventually {
          clock.advance(by: .milliseconds(250))
          return statuses.values.count { $0.wakes > failures } > 0 || clock.now.nanoseconds > 50_000_000_000
        })
    }
    hardware.simulated.inject(nil, at: 0x68)
    #expect(hardware.levels.values.filter { $0.hasPrefix("imu") } == ["imu-power true"])
    lease.cancel()
    watching.cancel()
    hub.shutDown()
    await hub.isOff()
    #expect(hardware.level(of: "imu-power") == false)
  }
}
