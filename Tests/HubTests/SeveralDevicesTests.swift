import Fusion
@testable import Hub
import Publishing
import Simulation
import TestSupport
import Testing

/// A board with several devices of a kind, from different makers.
@Suite(.timeLimit(.minutes(10)))
struct SeveralDevicesTests {
  private let hardware = SimulatedHardware()

  private func hub(_ devices: String) throws -> Hub {
    Hub(
      board: try Board(json5: Array("{ name: 'test', devices: { \(devices) } }".utf8), file: "test"), hardware: hardware
    )
  }

  private static func power(_ line: String) -> String {
    "power: { switch: 'gpio', chip: 'simulated', line: '\(line)', lingerSeconds: 0 }"
  }
  private let mpu = "level: { driver: 'mpu-6050', bus: 'simulated/i2c', \(power("imu-power")) }"
  private let lsm = "deck: { driver: 'lsm6dsox', bus: 'simulated/i2c', rateHz: 104, \(power("lsm6dsox-power")) }"

  @Test(arguments: [
    ("lsm6dsox", 0x6A, SimulatedHardware.lsm6dsoxPowerLine), ("bmi160", 0x69, SimulatedHardware.bmi160PowerLine),
  ])
  func `a chip of another manufacturer gives the vehicle's attitude`(
    _ driver: String, _ address: Int, _ line: String
  ) async throws {
    let hub = try hub(
      "deck: { driver: '\(driver)', bus: 'simulated/i2c', address: \(address), rateHz: 100, \(Self.power(line)) }")
    let states = Recorder<FusedState>()
    let subscription = hub.state(rateHz: 50, parts: [.attitude]).subscribe(as: "test") { states.append($0) }
    _ = await states.values { $0.count > 30 }
    subscription.cancel()
    await hub.isOff()
    let last = try #require(states.values.last)
    let (rates, acceleration) = (try #require(last.rates), try #require(last.acceleration))
    let truth = hardware.world.truth(at: rates.at)
    #expect(abs(rates.value.z - truth.rates.z) < 0.05 && abs(rates.value.x - truth.rates.x) < 0.05)
    #expect(abs(acceleration.value.z - truth.specificForce.z) < 0.5)
    #expect(last.attitude != nil)
    #expect(!hardware.powerLines.level(line))
  }

  @Test(arguments: [
    "'mpu-6050', bus: 'simulated/i2c'", "'bmi160', bus: 'simulated/i2c', address: 0x69",
    "'lsm6dsox', bus: 'simulated/i2c'", "'lis3mdl', bus: 'simulated/i2c'", "'bme280', bus: 'simulated/i2c'",
    "'ina226', bus: 'simulated/i2c'", "'nmea', port: 'simulated/gps'", "'nmea', port: 'simulated/gps2'",
    "'ublox', port: 'simulated/ublox-8'",
  ])
  func `a simulated device without a switch has power`(_ device: String) async throws {
    let hub = try hub("it: { driver: \(device) }")
    let statuses = Recorder<DeviceStatus>()
    let watching = hub.monitors[0].changes.subscribe(as: "test", receiveValue: { statuses.append($0) })
    let subscription = hub.state.subscribe(as: "test", receiveValue: { _ in })
    let working = await statuses.first { [.tracking, .failed].contains($0.power) }
    #expect(working.power == .tracking, "\(working.reason)")
    subscription.cancel()
    await hub.isOff()
    watching.cancel()
  }

  @Test func `the first device of a kind is fused, and each device has its own energy log`() async throws {
    let hub = try hub("\(lsm), \(mpu)")
    #expect(hub.devices.map(\.id) == ["deck", "level"])
    let states = Recorder<FusedState>()
    let subscription = hub.state(rateHz: 50).subscribe(as: "test", receiveValue: { states.append($0) })
    _ = await states.first { $0.attitude != nil }
    #expect(hub.devices.map(\.wakes) == [1, 0])
    let samples = Recorder<Void>()
    let held = try #require(hub.registry.value.imu("level")?.readings).subscribe(
      as: "held", receiveValue: { _ in samples.append(()) })
    await samples.first(3)
    #expect(hub.devices.map(\.holders) == [["test"], ["held"]])
    subscription.cancel()
    held.cancel()
    await hub.isOff()
    #expect(hub.devices.map(\.power) == [.off, .off] && hub.devices.map(\.wakes) == [1, 1])
  }

  @Test func `the wrong chip at an address is reported`() async throws {
    let hub = try hub(
      "imu: { driver: 'mpu-6050', bus: 'simulated/i2c', address: 0x69, \(Self.power("bmi160-power")) }")
    let statuses = Recorder<DeviceStatus>()
    let watching = hub.monitors[0].changes.subscribe(as: "test", receiveValue: { statuses.append($0) })
    let subscription = hub.state.subscribe(as: "test", receiveValue: { _ in })
    let failed = await statuses.first { $0.power == .failed }
    #expect(failed.reason.contains("0x69 on simulated/i2c"), "\(failed.reason)")
    subscription.cancel()
    await hub.isOff()
    watching.cancel()
  }
}
