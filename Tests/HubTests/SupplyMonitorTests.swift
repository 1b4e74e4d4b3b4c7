import Devices
import Fusion
import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

/// A supply monitor in a receiver's supply line, and the energy that it measures.
@Suite(.timeLimit(.minutes(10)))
struct SupplyMonitorTests {
  private let hardware = SimulatedHardware()

  private func board(_ devices: String, rateHz: Int = 29) throws -> Board {
    let text = """
      { name: "test", devices: { \(devices),
          meter: { driver: "ina226", bus: "simulated/i2c", rateHz: \(rateHz), power: { lingerSeconds: 0 } } } }
      """
    return try Board(json5: Array(text.utf8), file: "test")
  }

  private func hub(_ devices: String) throws -> Hub { Hub(board: try board(devices), hardware: hardware) }

  private func receiver(_ name: String, port: String, milliamperes: Double, _ more: String) -> String {
    """
    \(name): { driver: "nmea", port: "\(port)", speed: 9600, power: { switch: "gpio", chip: "simulated",
      line: "gps-power", currentMilliamperes: \(milliamperes), lingerSeconds: 0, \(more) } }
    """
  }

  private func device(_ id: String, of hub: Hub) -> DeviceStatus? { hub.devices.first { $0.id == id } }

  private func statuses(of id: String, _ hub: Hub) throws -> Property<DeviceStatus> {
    try #require(hub.monitors.first { $0.id == id }).changes
  }

  /// The real power in milliwatts.
  private let truth = 1000 * SimulatedHardware.gpsAmperes * 3.3

  @Test func `a device's measured current determines its energy, and its monitor sleeps when it does`() async throws {
    let hub = try hub(receiver("gps", port: "simulated/gps", milliamperes: 100, "monitor: 'meter'"))
    #expect(device("meter", of: hub)?.power == .asleep)
    let subscription = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    #expect(hub.waits { (device("gps", of: hub)?.measuredMilliwattHours ?? 0) > 0 })
    let before = try #require(device("gps", of: hub))
    #expect(device("meter", of: hub)?.holders == ["energy of gps"])
    #expect(abs(before.milliwatts / truth - 1) < 0.03, "\(before.milliwatts) of \(truth)")
    #expect(hub.waits { (device("gps", of: hub)?.onTime ?? .zero) > before.onTime + .milliseconds(500) })
    let after = try #require(device("gps", of: hub))
    let hours = (after.onTime - before.onTime).inSeconds / 3600
    let energy = after.energyMilliwattHours - before.energyMilliwattHours
    #expect(abs(energy / (truth * hours) - 1) < 0.03, "\(energy) of \(truth * hours)")
    #expect(abs(after.measuredMilliwattHours - before.measuredMilliwattHours - energy) < 1e-9)
    subscription.cancel()
    #expect(try statuses(of: "gps", hub).waits { $0.power == .off })
    #expect(try statuses(of: "meter", hub).waits { $0.power == .asleep })
    #expect(device("meter", of: hub)?.wakes == 1)
    #expect(device("gps", of: hub)?.milliwatts == 0)
    // The second visit is measured like the first.
    let again = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    #expect(
      hub.waits {
        device("gps", of: hub).map { $0.measuredMilliwattHours > after.measuredMilliwattHours } ?? false
      })
    again.cancel()
    await hub.isOff()
  }

  @Test func `a monitor with other settings starts after the previous one has stopped, and continues its totals`()
    async throws
  {
    let receiver = receiver("gps", port: "simulated/gps", milliamperes: 100, "monitor: 'meter'")
    let hub = try hub(receiver)
    let subscription = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    #expect(try statuses(of: "meter", hub).waits { $0.power == .tracking })
    for (wakes, rateHz) in [(2, 15), (3, 29), (4, 15)] {
      // The measured receiver is awake, so the new monitor starts as soon as it may.
      #expect(await hub.apply(try board(receiver, rateHz: rateHz)) == [])
      #expect(try statuses(of: "meter", hub).waits { $0.power == .tracking })
      #expect(device("meter", of: hub)?.wakes == wakes)
      #expect(device("meter", of: hub)?.holders == ["energy of gps"])
      #expect(device("gps", of: hub)?.wakes == 1)
    }
    subscription.cancel()
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `the current through one switch is divided as the stated currents are`() async throws {
    // Only one of the two devices names the monitor.
    let hub = try hub(
      receiver("gps", port: "simulated/gps", milliamperes: 30, "monitor: 'meter'") + ","
        + receiver("twin", port: "simulated/gps2", milliamperes: 90, "standbyMilliamperes: 10"))
    let first = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    #expect(hub.waits { device("gps", of: hub).map { abs($0.milliwatts / truth - 0.75) < 0.03 } ?? false })
    // A device that is powered for another one is charged its share too.
    #expect(hub.waits { device("twin", of: hub).map { abs($0.milliwatts / truth - 0.25) < 0.03 } ?? false })
    let second = hub.powerLease(of: "twin").subscribe(as: "test", receiveValue: { _ in })
    #expect(hub.waits { device("gps", of: hub).map { abs($0.milliwatts / truth - 0.25) < 0.03 } ?? false })
    #expect(hub.waits { device("twin", of: hub).map { abs($0.milliwatts / truth - 0.75) < 0.03 } ?? false })
    first.cancel()
    second.cancel()
    await hub.isOff()
  }

  @Test
  func `a measured current counts if the board file states none, and new measurements are not reported as changes`()
    async throws
  {
    let hub = try hub(receiver("gps", port: "simulated/gps", milliamperes: 0, "monitor: 'meter'"))
    let changes = Recorder<DeviceStatus>()
    let monitor = try #require(hub.monitors.first { $0.id == "gps" })
    let watching = monitor.changes.subscribe(as: "test", receiveValue: { changes.append($0) })
    let subscription = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    #expect(hub.waits { device("gps", of: hub).map { abs($0.milliwatts / truth - 1) < 0.03 } ?? false })
    _ = await changes.first { $0.power == .tracking }
    let count = changes.values.count
    let energy = try #require(device("gps", of: hub)).measuredMilliwattHours
    // About twenty measurements have passed.
    #expect(
      hub.waits { device("gps", of: hub).map { $0.measuredMilliwattHours > energy + truth * 0.7 / 3600 } ?? false })
    #expect(changes.values.count == count)
    subscription.cancel()
    watching.cancel()
    #expect(try statuses(of: "gps", hub).waits { $0.power == .off })
    // The measured power at work is also known while the device is off. Without it, the hub could learn nothing from
    // later visits.
    let idleTimeout = try #require(device("gps", of: hub)?.idleTimeout)
    #expect(abs(1000 * idleTimeout.costs.watts / truth - 1) < 0.2, "\(idleTimeout.costs)")
    #expect(idleTimeout.decision.ground == .noHistory)
    await hub.isOff()
  }

  @Test func `if a monitor is missing, the energy follows from the board file's currents`() async throws {
    let text = """
      { name: "test", devices: { \(receiver("gps", port: "simulated/gps", milliamperes: 50, "monitor: 'meter'")),
          meter: { driver: "ina219", bus: "simulated/i2c", address: 0x41 } } }
      """
    let hub = Hub(board: try Board(json5: Array(text.utf8), file: "test"), hardware: hardware)
    let subscription = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    #expect(try statuses(of: "meter", hub).waits { $0.power == .failed })
    // The monitor is started as soon as the line is high. It may have failed before the receiver's own thread has
    // noticed the line.
    #expect(hub.waits { device("gps", of: hub)?.milliwatts == 165 })
    #expect(device("gps", of: hub)?.measuredMilliwattHours == 0)
    subscription.cancel()
    await hub.isOff()
  }

  @Test func `a low supply is reported, and so is the end of the low supply`() throws {
    let placement = SupplySample.Placement(shuntOhms: 0.1, lowVolts: 11.8)
    func warning(_ volts: Double, before: String? = nil) -> String? {
      SupplySample(at: MonotonicInstant(nanoseconds: 0), volts: volts, shuntVolts: 0).warning(placement, before: before)
    }
    let low = try #require(warning(11.204))
    #expect(low == "the supply is low, 11.2 V of at least 11.8 V: charge the battery, or switch loads off")
    #expect(warning(11.8) == nil && warning(11.9, before: low) == low && warning(12.1, before: low) == nil)
    #expect(warning(10, before: low) == low)
    // The simulated supply has 3.3 V.
    let text =
      "{ name: 'x', devices: { meter: { driver: 'ina226', bus: 'simulated/i2c', rateHz: 29, lowVolts: 3.5 } } }"
    let hub = Hub(board: try Board(json5: Array(text.utf8), file: "x"), hardware: hardware)
    let lease = hub.powerLease(of: "meter").subscribe(as: "test", receiveValue: { _ in })
    #expect(try statuses(of: "meter", hub).waits { $0.warning?.hasPrefix("the supply is low, 3.") == true })
    #expect(device("meter", of: hub)?.conditions.map(\.severity) == [.warning])
    lease.cancel()
    hub.shutDown()
  }

  @Test func `a current away from the load is a warning until the current flows to the load again`() async throws {
    let hub = try hub(receiver("gps", port: "simulated/gps", milliamperes: 30, "monitor: 'meter'"))
    hardware.gpsSupply.load("charger", amperes: -0.1)
    let lease = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    let meter = try statuses(of: "meter", hub)
    #expect(meter.waits { $0.warning?.hasPrefix("the current flows away from the load") == true })
    hardware.gpsSupply.load("charger", amperes: 0)
    #expect(meter.waits { $0.warning == nil })
    lease.cancel()
    await hub.isOff()
  }

  @Test func `the warning of a current away from the load ends if the monitor measures no device any more`()
    async throws
  {
    func receiver(_ more: String) -> String { self.receiver("gps", port: "simulated/gps", milliamperes: 30, more) }
    let hub = try hub(receiver("monitor: 'meter'"))
    hardware.gpsSupply.load("charger", amperes: -0.1)
    let lease = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    let meter = try statuses(of: "meter", hub)
    #expect(meter.waits { $0.warning?.hasPrefix("the current flows away from the load") == true })
    #expect(await hub.apply(try board(receiver(""))) == [])
    #expect(meter.waits { $0.warning == nil })
    lease.cancel()
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `the current that charges a battery causes no warning`() async throws {
    let text = """
      { name: "test", devices: { \(receiver("gps", port: "simulated/gps", milliamperes: 30, "monitor: 'meter'")),
          meter: { driver: "ina226", bus: "simulated/i2c", rateHz: 29, power: { lingerSeconds: 0 } } },
        battery: { monitor: "meter", low: 3 } }
      """
    let hub = Hub(board: try Board(json5: Array(text.utf8), file: "test"), hardware: hardware)
    hardware.gpsSupply.load("charger", amperes: -0.1)
    let lease = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    #expect(try statuses(of: "meter", hub).waits { $0.power == .tracking })
    let before = try #require(device("gps", of: hub)).onTime
    // On another board the warning comes after two seconds.
    #expect(hub.waits { device("gps", of: hub).map { $0.onTime > before + .seconds(3) } ?? false })
    #expect(device("meter", of: hub)?.warning == nil)
    lease.cancel()
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `a request for voltage and current wakes only the monitor`() async throws {
    let hub = try hub(receiver("gps", port: "simulated/gps", milliamperes: 30, ""))
    let states = Recorder<FusedState>()
    let subscription = hub.state(parts: [.supply]).subscribe(as: "test", receiveValue: { states.append($0) })
    let idle = try #require(await states.first { $0.supply != nil }.supply)
    #expect(abs(idle.value.volts - 3.3) < 0.02 && abs(idle.value.amperes) < 0.001)
    #expect(device("gps", of: hub)?.wakes == 0)
    let gps = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    let busy = await states.first { state in
      state.supply.map { abs($0.value.amperes - SimulatedHardware.gpsAmperes) < 0.001 } ?? false
    }
    #expect(busy.supply.map { busy.devices.text($0.source) } == "meter")
    gps.cancel()
    subscription.cancel()
    await hub.isOff()
  }
}
