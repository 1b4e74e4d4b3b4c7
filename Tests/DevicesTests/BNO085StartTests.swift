import MonotonicTime
import Simulation
import Testing

@testable import Devices
@testable import HardwareIO

/// The start of the chip, its sleep, and its start after a reset or a loss of power.
extension BNO085DriverTests {
  @Test func `the driver resets, identifies, configures and reads the chip, and puts it to sleep`() throws {
    let off: [UInt8] = Array(repeating: 0, count: 15)
    let sleep = [
      Step("gyroscope off", [21, 0, 2, 7, 0xFD, 0x07] + off),
      Step("accelerometer off", [21, 0, 2, 8, 0xFD, 0x01] + off),
      Step("sleep", [5, 0, 1, 1, 3]),
      BNO085DriverTests.nothing,
    ]
    try read(flush(5) + packet("reports", BNO085DriverTests.threeSamples) + sleep) { driver, batches in
      let batch = batches[0]
      #expect(batch.count == 3 && driver.counters.samples == 3 && !batch.followsGap)
      #expect(driver.counters.overflows == 0 && driver.counters.misreads == 0)
      #expect(batch.temperatureCelsius == nil)
      // The accelerometer reports are 32, 22, 14 and 6 ms old, with 0, 2, 4 and 6 m/s².
      let expected: [(ago: Duration, x: Float)] = [
        (.milliseconds(30), 0.4), (.milliseconds(20), 2.5), (.milliseconds(10), 5),
      ]
      for (index, sample) in expected.enumerated() {
        #expect(clock.now - batch[index].at == sample.ago)
        #expect(batch[index].gyroscope == SIMD3(1, 0, -0.5))
        #expect(abs(batch[index].accelerometer.x - sample.x) < 1e-4, "\(batch[index].accelerometer)")
        #expect(batch[index].accelerometer.z == 2511.0 / 256)
      }
      driver.stop()
    }
  }

  @Test func `a chip that was reset is configured again`() throws {
    let parts: [[Step]] = [
      flush(5), BNO085DriverTests.packet("the advertisement", 0, [0x00, 0x01, 0x04, 0, 0, 0, 0]),
      BNO085DriverTests.packet("it is initialized", 2, BNO085DriverTests.initialized),
      BNO085DriverTests.packet("the reset is complete", 1, [1]),
      [BNO085DriverTests.enable(0x01, 7), BNO085DriverTests.enable(0x07, 8), BNO085DriverTests.nothing],
      flush(9), BNO085DriverTests.packet("accelerometer", 2, BNO085DriverTests.enabled(0x01, 0x40, 0x1F)),
      packet("reports", BNO085DriverTests.sample(200)),
    ]
    try read(times: 2, Array(parts.joined())) { driver, batches in
      #expect(batches.map(\.count) == [0, 1] && batches.map(\.followsGap) == [true, true])
      #expect(driver.counters.overflows == 0 && driver.counters.misreads == 0)
    }
  }

  @Test func `the start waits for a slow chip`() throws {
    let nobody = HardwareError.noAcknowledge(bus: "playback", address: 0x4A)
    let starting = [
      Step("not yet", [], read: [0, 0, 0, 0], error: nobody), Step("not yet", [], read: [0, 0, 0, 0], error: nobody),
      BNO085DriverTests.nothing,
    ]
    let bus = PlaybackBus(BNO085DriverTests.start(starting: starting), address: 0x4A)
    try driver(bus).start()
    bus.finish()
  }

  @Test func `a sensor that does not answer is asked three times`() {
    // These are the steps of the start up to the configuration of the accelerometer.
    let start = BNO085DriverTests.start().prefix { $0.purpose != "enable" }
    let tries: [Step] = (1...3 as ClosedRange<UInt8>).flatMap { sequence in
      [BNO085DriverTests.enable(0x01, sequence)] + BNO085DriverTests.unanswered(100)
    }
    let bus = PlaybackBus(Array(start) + tries, address: 0x4A)
    #expect(throws: HardwareError.timedOut("the BNO085, BNO080 or BNO086 at 0x4a on playback")) {
      try driver(bus).start()
    }
    bus.finish()
  }

  @Test func `a chip that stretches the clock after the sleep command counts as asleep`() throws {
    let off: [UInt8] = Array(repeating: 0, count: 15)
    let bus = PlaybackBus(
      [
        Step("header", [], read: [0x57, 0, 3, 4]), Step("header again", [], read: [0x57, 0x80, 3, 5]),
        Step("gyroscope off", [21, 0, 2, 0, 0xFD, 0x07] + off),
        Step("accelerometer off", [21, 0, 2, 1, 0xFD, 0x01] + off),
        Step("sleep", [5, 0, 1, 0, 3]),
        Step("given up", [], read: [0, 0, 0, 0], error: .timedOut("the clock")),
      ], address: 0x4A)
    try InertialChip.bno085.sleep(on: bus, address: 0x4A)
    bus.finish()
  }

  @Test func `a working chip in an unknown state is put to sleep, and a sleeping chip can be started`() throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedBNO085(name: "twin", world: world, clock: clock) { true }
    let driver = driver(chip)
    try driver.start()
    // The clock advances by a whole batch, which tells the driver what it needs to know about the chip's rate.
    clock.advance(by: .milliseconds(200))
    try InertialChip.bno085.sleep(on: chip, address: 0x4A)
    var batch = IMUBatch()
    for _ in 0..<2 {
      clock.advance(by: .milliseconds(200))
      try driver.read(into: &batch)
    }
    #expect(batch.count == 0)
    try driver.start()
    clock.advance(by: .milliseconds(100))
    try driver.read(into: &batch)
    #expect((9...11).contains(batch.count))
  }

  @Test func `after a loss of power the chip is configured again`() throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedBNO085(name: "twin", world: world, clock: clock) { true }
    let driver = driver(chip)
    try driver.start()
    chip.lostPower()
    var batch = IMUBatch()
    var counts: [Int] = []
    for _ in 0..<5 {
      clock.advance(by: .milliseconds(40))
      try driver.read(into: &batch)
      counts.append(batch.count)
    }
    #expect(counts[0] == 0 && counts[2...].allSatisfy { $0 > 0 }, "\(counts)")
    #expect(driver.counters.overflows == 0 && driver.counters.misreads == 0)
  }
}
