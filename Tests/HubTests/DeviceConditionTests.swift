import Devices
import HardwareIO
import Hub
import MonotonicTime
import NMEA
import Publishing
import Simulation
import TestSupport
import Testing

/// The problems of devices, with a clock that the test moves.
@Suite(.timeLimit(.minutes(10)))
struct DeviceConditionTests {
  private let hardware = SimulatedHardware()
  private let clock = ManualClock()

  private func hub(_ devices: String) throws -> Hub {
    let text = "{ name: 'x', devices: { \(devices) } }"
    return Hub(board: try Board(json5: Array(text.utf8), file: "x"), hardware: hardware, clock: clock)
  }

  private static let imu =
    "imu: { driver: 'mpu-6050', bus: 'simulated/i2c', power: { switch: 'none', lingerSeconds: 0 } }"

  private func conditions(_ hub: Hub) -> [DeviceCondition] { hub.devices.flatMap(\.conditions) }

  @Test func `a chip that disappears after an hour has failed since then, however often the hub retries`() async throws
  {
    let hub = try hub(DeviceConditionTests.imu)
    let statuses = Recorder<DeviceStatus.Power>()
    let monitor = try #require(hub.monitors.first)
    let watching = monitor.changes.subscribe(as: "test", receiveValue: { statuses.append($0.power) })
    let lease = hub.powerLease(of: "imu").subscribe(as: "test", receiveValue: { _ in })
    _ = await statuses.first { $0 == .tracking }
    #expect(conditions(hub).isEmpty && hub.devices[0].origin == .simulated)
    clock.advance(by: .seconds(3600))
    hardware.inject(.noAcknowledge, at: 0x68)
    #expect(monitor.changes.waits { $0.power == .failed })
    let first = try #require(conditions(hub).first)
    #expect(first.kind == .failed && first.severity == .problem)
    #expect(first.summary == "no answer from address 0x68 on simulated/i2c", "\(first)")
    #expect(first.nextStep == "check wiring, power and address: sensorhub probe --bus simulated/i2c")
    #expect(first.since >= MonotonicInstant(nanoseconds: 3_600_000_000_000))
    let before = statuses.values.count { $0 == .failed }
    for failures in 1...3 {
      // Only the next attempt waits for the clock, for at most a second.
      await clock.sleepers(1)
      clock.advance(by: .seconds(1))
      await statuses.values { $0.count { $0 == .failed } >= before + failures }
    }
    #expect(conditions(hub).first?.since == first.since, "\(conditions(hub)) \(first)")
    #expect(hub.devices[0].wakes == 1)
    await clock.sleepers(1)
    hardware.inject(nil, at: 0x68)
    clock.advance(by: .seconds(1))
    #expect(monitor.changes.waits { $0.power == .tracking })
    #expect(conditions(hub).isEmpty && hub.devices[0].wakes == 2)
    lease.cancel()
    watching.cancel()
    hub.shutDown()
    #expect(monitor.changes.waits { $0.power.isRest || $0.power == .failed })
  }

  @Test func `attempts to wake a receiver without a port are no wakes`() async throws {
    let board = "{ name: 'x', devices: { gps: { driver: 'nmea', port: '/dev/ttyNone' } } }"
    let hub = Hub(board: try Board(json5: Array(board.utf8), file: "x"), hardware: LinuxHardware(), clock: clock)
    let statuses = Recorder<DeviceStatus.Power>()
    let watching = hub.monitors[0].changes.subscribe(as: "test", receiveValue: { statuses.append($0.power) })
    let lease = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    for failures in 1...3 {
      await statuses.values { $0.count { $0 == .failed } >= failures }
      // Only the next attempt waits for the clock, for at most a second.
      await clock.sleepers(1)
      clock.advance(by: .seconds(1))
    }
    #expect(hub.devices[0].wakes == 0)
    lease.cancel()
    watching.cancel()
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `fixes of a simulated receiver are marked as simulated, and so is the device`() async throws {
    let hub = Hub(
      board: try Board(
        json5: Array("{ name: 'x', devices: { gps: { driver: 'nmea', port: 'simulated/gps' } } }".utf8), file: "x"),
      hardware: SimulatedHardware())
    let statuses = Recorder<UInt8>()
    let lease = hub.epochs.subscribe(
      as: "test", receiveValue: { if $0.fix.mode >= .twoDimensional { statuses.append($0.fix.status.rawValue) } })
    let values = await statuses.values { $0.count >= 2 }
    #expect(values.allSatisfy { $0 == 8 }, "\(values)")
    #expect(hub.origin == .simulated && hub.devices[0].origin == .simulated)
    lease.cancel()
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `each condition states the next step`() {
    let since = MonotonicInstant(nanoseconds: 0)
    #expect(DeviceCondition(.failed, .problem, "a", nextStep: "b", since: since).text == "a; b")
    #expect(DeviceCondition(.warning, .warning, "a", since: since).text == "a")
    #expect(DeviceCondition.Severity.allCases == DeviceCondition.Severity.allCases.sorted())
  }
}
