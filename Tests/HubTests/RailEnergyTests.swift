import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Hub

/// A receiver, an inertial sensor and a barometer on one switch whose current is measured. Their clients pay for all of
/// it. The chips use the system clock, and everything else uses a clock that the test moves. The test waits for the
/// chips' measurements before it moves the clock.
@Suite(.timeLimit(.minutes(10)))
struct RailEnergyTests {
  private typealias Bench = ScheduleBench

  private static let line = "switch: 'gpio', chip: 'c', line: 'l'"
  private static let minute = Schedule(every: .seconds(60), accuracyMetres: 10, within: .seconds(45))

  /// The power in the board file adds up to less than three quarters of the measured current.
  private static func bench(
    restoring usageHistories: [UInt8]? = nil, from instant: MonotonicInstant = ManualClock().now
  ) throws -> Bench {
    let bench = try Bench(
      lingerSeconds: 4, restoring: usageHistories,
      imu: "power: { \(line), currentMilliamperes: 60, standbyMilliamperes: 5, supplyVolts: 3.3, lingerSeconds: 5 }",
      power: "standbyMilliamperes: 20, monitor: 'meter'",
      others: """
        baro: { driver: 'bme280', bus: 'simulated/i2c', power: { \(line), currentMilliamperes: 40, standbyMilliamperes: 5,
          supplyVolts: 3.3, lingerSeconds: 5 } },
        meter: { driver: 'ina226', bus: 'simulated/i2c', rateHz: 29, power: { lingerSeconds: 0 } }
        """, simulated: SimulatedHardware(), from: instant)
    // All energy is charged to the devices on the line, and no energy while the line is low.
    bench.isAtRest = { [unowned bench] in
      let flowing = bench.isHigh ? milliwatts : 0
      let devices = bench.hub.devices
      let isMetered = devices.first { $0.id == "meter" }?.power == .tracking
      let sum = onLine(devices).reduce(0) { $0 + $1.milliwatts }
      return isMetered == bench.isHigh && abs(sum - flowing) <= 0.004 * flowing
    }
    bench.settle()
    return bench
  }

  /// The power while the line is high. The supply has 3.3 V with 150 mΩ in series.
  private static let milliwatts = 1000 * Bench.Wire.amperes * (3.3 - 0.15 * Bench.Wire.amperes)

  private static func onLine(_ devices: [DeviceStatus]) -> [DeviceStatus] { devices.filter { $0.id != "meter" } }

  /// The energy through the line in milliwatt-hours.
  private func drawn(_ bench: Bench) -> Double { Self.milliwatts * bench.wire.highSeconds / 3600 }

  private func come(_ name: String, _ device: String, _ bench: Bench) throws -> Subscription {
    let lease = bench.hub.powerLease(of: device).subscribe(as: .client(name), receiveValue: { _ in })
    #expect(
      bench.hub.waits {
        let status = bench.hub.devices.first { $0.id == device }
        return status?.holders.contains(name) == true && [.acquiring, .tracking].contains(status?.power)
      }, "\(bench.hub.devices)")
    bench.settle()
    return lease
  }

  private func leave(_ lease: Subscription, _ name: String, _ bench: Bench) {
    lease.cancel()
    #expect(
      bench.hub.waits {
        // A device without holders is idle or off.
        !bench.hub.devices.contains { status in
          status.holders.contains(name)
            || status.holders.isEmpty && [.settling, .acquiring, .tracking].contains(status.power)
        }
      }, "\(bench.hub.devices)")
    bench.settle()
  }

  /// Expects the shares of each device to add up to its energy, and all of them to the energy through the line.
  private func expectEnergyToAddUp(_ bench: Bench, _ when: String) {
    let devices = Self.onLine(bench.hub.devices)
    for device in devices {
      let sum = device.energyByClient.reduce(0) { $0 + $1.milliwattHours }
      #expect(abs(sum - device.energyMilliwattHours) < 1e-6 * max(1, sum), "\(when): \(device)")
    }
    let sum = devices.flatMap(\.energyByClient).reduce(0) { $0 + $1.milliwattHours }
    let drawn = drawn(bench)
    #expect(
      drawn > 0 && abs(sum - drawn) < 0.01 * drawn, "\(when): \(sum) of \(drawn) mWh, \(devices.map(\.energyByClient))")
  }

  /// Waits until the receiver is awake for the next fix.
  private func awaitWake(_ bench: Bench) {
    for _ in 0..<120 where bench.status.schedules.first?.reason.hasPrefix("awake") != true { bench.pass(1) }
    #expect(bench.isHigh && bench.status.schedules.first?.reason.hasPrefix("awake") == true, "\(bench.status)")
  }

  @Test
  func
    `the energy per client on a measured line adds up, across a reload and a restart during a wake`()
    async throws
  {
    let bench = try Self.bench()
    let log = bench.subscribe("log[7]", Self.minute, Recorder())
    bench.pass(30)
    let map = try come("map[1]", "baro", bench)
    bench.pass(20)
    let level = try come("level[2]", "imu", bench)
    bench.pass(25)
    leave(map, "map[1]", bench)
    bench.pass(10)
    let viewer = try come("web 127.0.0.1:4000", "gps", bench)
    bench.pass(15)
    leave(level, "level[2]", bench)
    bench.pass(15)
    leave(viewer, "web 127.0.0.1:4000", bench)
    bench.pass(30)
    expectEnergyToAddUp(bench, "before the reload")

    // The first reload happens while a client holds the barometer, and the second one in the middle of a wake.
    let again = try come("map[3]", "baro", bench)
    bench.pass(5)
    bench.write(idleTimeout: "lingerSeconds: 3, settleMilliseconds: 90")
    try await bench.reload()
    bench.pass(20)
    leave(again, "map[3]", bench)
    bench.pass(30)
    awaitWake(bench)
    try await bench.reload()
    bench.pass(40)
    expectEnergyToAddUp(bench, "after the reload")
    let payers = Set(Self.onLine(bench.hub.devices).flatMap(\.energyByClient).map(\.payer))
    let expected: Set = ["log", "map", "level", "web 127.0.0.1", EnergyByClient.idleTimeout, EnergyByClient.standby]
    #expect(payers.isSuperset(of: expected), "\(payers)")

    // Another hub starts with the usage histories that this one saved at its end.
    awaitWake(bench)
    bench.pass(2)
    #expect(bench.isHigh && bench.status.schedules.first?.reason.hasPrefix("awake") == true, "\(bench.status)")
    await bench.end()
    #expect(bench.hub.waits { bench.isAtRest() }, "\(bench.hub.devices)")
    expectEnergyToAddUp(bench, "at the end")
    log.cancel()
    let next = try Self.bench(restoring: bench.machine.usageHistories.text, from: bench.clock.now + .seconds(7))
    let later = next.subscribe("log[8]", Self.minute, Recorder())
    next.pass(30)
    let last = try come("map[4]", "baro", next)
    next.pass(45)
    leave(last, "map[4]", next)
    next.pass(30)
    later.cancel()
    next.settle()
    await next.end()
    let sum = Self.onLine(next.hub.devices).flatMap(\.energyByClientOfDay).reduce(0) { $0 + $1.milliwattHours }
    let drawn = drawn(bench) + drawn(next)
    #expect(abs(sum - drawn) < 0.01 * drawn, "\(sum) of \(drawn) mWh, in two runs")
  }
}
