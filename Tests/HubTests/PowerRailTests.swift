import Guarding
import HardwareIO
import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

/// Devices that share a switch, and devices without one.
@Suite(.timeLimit(.minutes(10)))
struct PowerRailTests {
  /// Simulated hardware that records the levels of the power lines, which may refuse to switch.
  private final class WatchedHardware: Hardware {
    let levels = Recorder<Bool>()
    let cannotBeDrivenLow: Guarded<Bool>
    private let simulated = SimulatedHardware()

    init(cannotBeDrivenLow: Bool = false) { self.cannotBeDrivenLow = Guarded(cannotBeDrivenLow) }

    func i2cBus(_ name: String) throws(HardwareError) -> any I2CBus { try simulated.i2cBus(name) }

    func serialPort(_ name: String, speed: BaudRate) throws(HardwareError) -> any SerialPort {
      try simulated.serialPort(name, speed: speed)
    }

    func gpioOutput(_ name: GPIOLineName, activeLow: Bool) throws(HardwareError) -> any GPIOOutput {
      let line = try simulated.gpioOutput(name, activeLow: activeLow)
      return WatchedLine(line: line, hardware: self)
    }

    func gpioEdges(_ name: GPIOLineName, falling: Bool) throws(HardwareError) -> any GPIOEdgeInput {
      try simulated.gpioEdges(name, falling: falling)
    }
  }

  private struct WatchedLine: GPIOOutput {
    let line: any GPIOOutput
    let hardware: WatchedHardware

    func set(_ level: Bool) throws(HardwareError) {
      try line.set(level)
      hardware.levels.append(level)
    }

    func close() throws(HardwareError) {
      try line.close()
      hardware.levels.append(false)
      if hardware.cannotBeDrivenLow.withLock({ $0 }) { throw .system("driving the line", errno: 19) }
    }
  }

  private func hub(
    _ hardware: any Hardware, gps: String, imu: String, clock: any MonotonicTimeSource = MonotonicClock()
  ) throws -> Hub {
    let text = """
      { name: "test",
        devices: { gps: { driver: "nmea", port: "simulated/gps", speed: 9600, power: { \(gps) lingerSeconds: 0 } },
          imu: { driver: "mpu-6050", bus: "simulated/i2c", power: { \(imu) lingerSeconds: 0 } } } }
      """
    return Hub(board: try Board(json5: Array(text.utf8), file: "test"), hardware: hardware, clock: clock)
  }

  @Test func `each device on a switch stays off for the longest minimum time of them all`() async throws {
    let hardware = WatchedHardware()
    let clock = ManualClock()
    let hub = try hub(hardware, gps: line + "minimumOffSeconds: 8, minimumOnSeconds: 6, ", imu: line, clock: clock)
    let samples = Recorder<Void>()
    let readings = try #require(hub.imu?.readings)
    readings.subscribe(as: "level", receiveValue: { _ in samples.append(()) }).cancel()
    await hardware.levels.first(1)
    // The line is on. Its minimum time counts once the reader has recorded when it was switched on.
    let statuses = Recorder<DeviceStatus>()
    let watching = hub.monitors[1].changes.subscribe(as: "test", receiveValue: { statuses.append($0) })
    _ = await statuses.first { $0.wakes == 1 }
    watching.cancel()
    await clock.sleepers(1)
    clock.advance(by: .seconds(5))
    #expect(hardware.levels.values == [true])
    clock.advance(by: .seconds(1))
    await hub.isOff()
    #expect(hardware.levels.values == [true, false])
    let again = readings.subscribe(as: "level", receiveValue: { _ in samples.append(()) })
    await clock.sleepers(1)
    clock.advance(by: .seconds(7))
    #expect(hardware.levels.values == [true, false])
    clock.advance(by: .seconds(1))
    #expect(await hardware.levels.first(3) == [true, false, true])
    again.cancel()
    hub.shutDown()
    await hub.isOff()
    #expect(hardware.levels.values.last == false)
  }

  private let line = "switch: 'gpio', chip: 'simulated', line: 'imu-power', "

  private func status(_ id: String, of hub: Hub) throws -> DeviceStatus {
    try #require(hub.devices.first { $0.id == id })
  }

  @Test func `a shared supply is switched on for the first device and off after the last`() async throws {
    let hardware = WatchedHardware()
    let hub = try hub(hardware, gps: line, imu: line)
    let samples = Recorder<Void>()
    let imu = try #require(hub.imu?.readings).subscribe(as: "level", receiveValue: { _ in samples.append(()) })
    await samples.first(1)
    #expect(hardware.levels.values == [true])
    // The receiver is on the same line, so it is not off, and its energy is counted.
    let asleep = try status("gps", of: hub)
    #expect(asleep.power == .asleep && asleep.reason == "supplied for imu" && asleep.wakes == 0)
    await samples.first(10)
    #expect(try status("gps", of: hub).energyMilliwattHours > asleep.energyMilliwattHours)
    let statuses = Recorder<DeviceStatus>()
    let watching = hub.receiver?.monitor.changes.subscribe(as: "test", receiveValue: { statuses.append($0) })
    let gps = hub.powerLease(of: "gps").subscribe(as: "map", receiveValue: { _ in })
    _ = await statuses.first { $0.power == .acquiring }
    imu.cancel()
    await hub.imu?.isOff()
    #expect(hardware.levels.values == [true])
    #expect(try status("imu", of: hub).power == .asleep)
    gps.cancel()
    await hub.isOff()
    #expect(hardware.levels.values == [true, false])
    #expect(hub.devices.map(\.power) == [.off, .off])
    watching?.cancel()
  }

  @Test func `a device on a supply that is already on does not wait for its minimum time off`() async throws {
    let clock = ManualClock()
    let hub = try hub(
      WatchedHardware(), gps: line + "minimumOffSeconds: 20, ", imu: line + "minimumOffSeconds: 20, ", clock: clock)
    let samples = Recorder<Void>()
    let readings = try #require(hub.imu?.readings)
    let gps = hub.powerLease(of: "gps").subscribe(as: "map", receiveValue: { _ in })
    #expect(hub.monitors[0].changes.waits { $0.power == .acquiring })
    // The chip's visit is over, but its supply stays on for the receiver.
    let first = readings.subscribe(as: "level", receiveValue: { _ in samples.append(()) })
    await samples.first(1)
    first.cancel()
    await hub.imu?.isOff()
    let again = Recorder<Void>()
    let second = readings.subscribe(as: "level", receiveValue: { _ in again.append(()) })
    // The clock does not advance here.
    await again.first(1)
    second.cancel()
    gps.cancel()
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `a minimum time off also applies across a restart of the hub`() async throws {
    let clock = ManualClock()
    let old = Machine(hardware: WatchedHardware(), clock: clock)
    let text = """
      { name: "test", devices: { imu: { driver: "mpu-6050", bus: "simulated/i2c",
          power: { \(line) minimumOffSeconds: 20, lingerSeconds: 0 } } } }
      """
    let board = try Board(json5: Array(text.utf8), file: "test")
    let first = Hub(board: board, on: old)
    let visit = first.powerLease(of: "imu").subscribe(as: "test", receiveValue: { _ in })
    #expect(first.monitors[0].changes.waits { $0.power == .tracking })
    visit.cancel()
    first.shutDown()
    await first.isOff()
    let times = old.supplyTimes
    #expect(times.offSince == ["simulated/imu-power": clock.now.nanoseconds])
    clock.advance(by: .seconds(2))
    // The next process uses the same clock.
    for (isKilled, rest) in [(false, 18), (true, 20)] {
      let hardware = WatchedHardware()
      let machine = Machine(hardware: hardware, clock: clock)
      let second = Hub(board: board, on: machine)
      machine.restore(isKilled ? SupplyTimes(at: clock.now, isRunning: true) : times)
      #expect(second.makeSafe() == [])
      let samples = Recorder<Void>()
      let lease = try #require(second.imu?.readings).subscribe(as: "test", receiveValue: { _ in samples.append(()) })
      await clock.sleepers(1)
      clock.advance(by: .seconds(rest) - .milliseconds(1))
      #expect(!hardware.levels.values.contains(true))
      clock.advance(by: .milliseconds(1))
      await samples.first(1)
      lease.cancel()
      second.shutDown()
      await second.isOff()
    }
    // After a reboot, the times of the earlier run are ignored.
    let reborn = Machine(hardware: WatchedHardware(), clock: ManualClock())
    _ = Hub(board: board, on: reborn)
    reborn.restore(SupplyTimes(at: clock.now, isRunning: true))
    #expect(reborn.supplyTimes.offSince.isEmpty)
  }

  @Test func `a supply that is in use stays on when lines are made safe`() async throws {
    let hardware = WatchedHardware()
    let hub = try hub(hardware, gps: "", imu: line)
    #expect(hub.makeSafe() == [])
    #expect(hardware.levels.values == [false])
    let samples = Recorder<Void>()
    let powers = Recorder<DeviceStatus.Power>()
    let watching = hub.imu?.monitor.changes.subscribe(as: "test", receiveValue: { powers.append($0.power) })
    let imu = try #require(hub.imu?.readings).subscribe(as: "level", receiveValue: { _ in samples.append(()) })
    await samples.first(1)
    #expect(hub.makeSafe() == [])
    #expect(hardware.levels.values == [false, true])
    imu.cancel()
    await hub.isOff()
    #expect(hardware.levels.values == [false, true, false])
    // A device with its own switch is never powered without being in use.
    #expect(!powers.values.contains(.asleep), "\(powers.values)")
    watching?.cancel()
  }

  @Test func `a device without a switch is asleep instead of off, and its energy still counts`() async throws {
    let clock = ManualClock()
    let hub = try hub(
      WatchedHardware(), gps: "currentMilliamperes: 1000, ", imu: "currentMilliamperes: 1000, ", clock: clock)
    #expect(hub.devices.map(\.power) == [.asleep, .asleep])
    let first = hub.devices.map(\.energyMilliwattHours)
    clock.advance(by: .seconds(1))
    // A receiver that is not told to sleep keeps working. The sleeping IMU draws microamperes.
    let now = hub.devices.map(\.energyMilliwattHours)
    #expect(now[0] > first[0] + 0.2)
    #expect(now[1] - first[1] < (now[0] - first[0]) / 1000)
    #expect(hub.devices.map(\.onTime) == [.zero, .zero])
    // The simulated receiver has no power, because the board names no switch. Only the hub's report counts here.
    let subscription = hub.powerLease(of: "gps").subscribe(as: "map", receiveValue: { _ in })
    #expect(hub.monitors[0].changes.waits { $0.power == .acquiring })
    subscription.cancel()
    await hub.isOff()
    #expect(hub.devices[0].power == .asleep)
    #expect(["map left", "no subscriber came back"].contains(hub.devices[0].reason), "\(hub.devices[0].reason)")
  }

  @Test func `a supply that could not be switched off is reported as a warning`() async throws {
    let hardware = WatchedHardware(cannotBeDrivenLow: true)
    let hub = try hub(hardware, gps: "", imu: line)
    let samples = Recorder<Void>()
    let imu = try #require(hub.imu?.readings).subscribe(as: "level", receiveValue: { _ in samples.append(()) })
    await samples.first(1)
    imu.cancel()
    await hub.isOff()
    let warning = try #require(try status("imu", of: hub).warning)
    #expect(warning.contains("could not be switched off") && warning.contains("No such device"), "\(warning)")
    #expect(hub.switchProblems.count == 1)
    // When the line can be driven again, the fault is over.
    hardware.cannotBeDrivenLow.withLock { $0 = false }
    let again = Recorder<Void>()
    let second = try #require(hub.imu?.readings).subscribe(as: "level", receiveValue: { _ in again.append(()) })
    await again.first(1)
    second.cancel()
    await hub.isOff()
    #expect(try status("imu", of: hub).warning == nil && hub.switchProblems.isEmpty)
  }

  @Test func `a chip without a switch that is read again within its idle timeout is not put to sleep`() async throws {
    // The receiver's switch also powers the simulated chip.
    let text = """
      { name: "test", devices: { gps: { driver: "nmea", port: "simulated/gps", speed: 9600, power: { \(line) } },
          imu: { driver: "mpu-6050", bus: "simulated/i2c", power: { lingerSeconds: 600 } } } }
      """
    let hub = Hub(board: try Board(json5: Array(text.utf8), file: "test"), hardware: WatchedHardware())
    let statuses = Recorder<DeviceStatus>()
    let watching = hub.imu?.monitor.changes.subscribe(as: "test", receiveValue: { statuses.append($0) })
    let supply = hub.powerLease(of: "gps").subscribe(as: "supply", receiveValue: { _ in })
    #expect(hub.monitors[0].changes.waits { $0.power == .acquiring })
    let first = Recorder<Void>()
    let samples = try #require(hub.imu?.readings)
    let visit = samples.subscribe(as: "level", receiveValue: { _ in first.append(()) })
    // The device must be at work and not only starting, because starting wakes the chip anyway.
    await first.first(2)
    visit.cancel()
    _ = await statuses.values { $0.last?.power == .lingering }
    #expect(hub.makeSafe() == [])
    let second = Recorder<Void>()
    let again = samples.subscribe(as: "level", receiveValue: { _ in second.append(()) })
    // There are more bursts than a sleeping chip's FIFO would contain.
    await second.first(10)
    #expect(!statuses.values.contains { $0.power == .failed } && hub.devices[1].wakes == 1)
    again.cancel()
    supply.cancel()
    hub.shutDown()
    await hub.isOff()
    watching?.cancel()
  }

  /// A bus with a chip of a given identity; records all writes to it.
  private final class NotingHardware: Hardware, I2CBus {
    let writes = Recorder<[UInt8]>()
    let name = "noting"
    let maximumReadLength = 32
    private let identity: UInt8?

    init(identity: UInt8?) { self.identity = identity }

    func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
      guard let identity else { throw .noAcknowledge(bus: name, address: address) }
      for operation in operations {
        switch operation {
        case .write(let bytes): if bytes.count > 1 { writes.append(Array(bytes)) }
        case .read(let bytes): for index in bytes.indices { bytes[index] = identity }
        }
      }
    }

    func i2cBus(_ name: String) throws(HardwareError) -> any I2CBus { self }
    func serialPort(_ name: String, speed: BaudRate) throws(HardwareError) -> any SerialPort { throw .notFound(name) }
    func gpioOutput(_ name: GPIOLineName, activeLow: Bool) throws(HardwareError) -> any GPIOOutput {
      throw .notFound("\(name)")
    }
    func gpioEdges(_ name: GPIOLineName, falling: Bool) throws(HardwareError) -> any GPIOEdgeInput {
      throw .notFound("\(name)")
    }
  }

  @Test(
    arguments: [
      ("mpu-6050", 0x68, [[0x6B, 0x40]]), ("mpu-6050", 0x71, [[0x6B, 0x40]]),
      ("lsm6dsox", 0x6C, [[0x10, 0], [0x11, 0]]), ("mpu-6050", 0xEA, []),
      ("lsm6dsox", nil, []),
    ] as [(String, UInt8?, [[UInt8]])])
  func `a chip without a switch that a killed hub left awake is put to sleep, and no other chip is`(
    _ driver: String, _ identity: UInt8?, _ writes: [[UInt8]]
  ) throws {
    let hardware = NotingHardware(identity: identity)
    let text = "{ name: 'x', devices: { imu: { driver: '\(driver)', bus: 'b' } } }"
    let hub = Hub(board: try Board(json5: Array(text.utf8), file: "x"), hardware: hardware)
    #expect(hub.makeSafe() == [])
    #expect(hardware.writes.values == writes)
  }
}
