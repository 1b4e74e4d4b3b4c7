import MonotonicTime
import Testing

@testable import Devices
@testable import HardwareIO

/// Packets in pieces, and transfers that go wrong.
extension BNO085DriverTests {
  @Test func `an adapter of short reads gets each packet in pieces`() throws {
    let bus = PlaybackBus(
      BNO085DriverTests.start(longest: 32) + flush(5)
        + BNO085DriverTests.packet("reports", 3, BNO085DriverTests.threeSamples, longest: 32), address: 0x4A,
      maximumReadLength: 32)
    let driver = driver(bus)
    try driver.start()
    clock.advance(by: .milliseconds(20))
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(batch.count == 3 && driver.counters.misreads == 0)
    #expect(batch[2].gyroscope == SIMD3(1, 0, -0.5) && batch[2].accelerometer.z == 2511.0 / 256)
    bus.finish()
  }

  @Test func `inconsistent pieces are not used as a packet`() throws {
    var pieces = BNO085DriverTests.packet("reports", 3, BNO085DriverTests.threeSamples, longest: 32)
    // The length belongs to another packet, so no more of this packet is requested.
    pieces[2].read[0] += 1
    let bus = PlaybackBus(
      BNO085DriverTests.start(longest: 32) + flush(5) + pieces[...2]
        + BNO085DriverTests.packet("reports", 3, BNO085DriverTests.sample(4), longest: 32), address: 0x4A,
      maximumReadLength: 32)
    let driver = driver(bus)
    try driver.start()
    clock.advance(by: .milliseconds(20))
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(batch.count == 1 && batch.followsGap)
    #expect(driver.counters.misreads == 1 && driver.counters.overflows == 0)
    bus.finish()
  }

  @Test func `a chip without output is asked a few times, which marks no gap`() throws {
    let silence = Array(repeating: BNO085DriverTests.nothing, count: 4)
    try read(times: 2, flush(5) + silence + flush(7) + packet("reports", BNO085DriverTests.threeSamples)) {
      driver, batches in
      #expect(batches.map(\.count) == [0, 3] && !batches[0].followsGap && !batches[1].followsGap)
      #expect(driver.counters.misreads == 0 && driver.counters.overflows == 0)
    }
  }

  @Test(
    arguments: [
      [0xFF, 0xFF, 0xFF, 0xFF], [0xFF, 0x7F, 0x03, 0x01], [0x5B, 0x00, 0x06, 0x00], [0x03, 0x00, 0x03, 0x00],
    ] as [[UInt8]])
  func `an impossible header is read again, and nothing is lost`(_ header: [UInt8]) throws {
    let steps = flush(5) + [Step("garbled", [], read: header)] + packet("reports", BNO085DriverTests.threeSamples)
    try read(steps) { driver, batches in
      #expect(batches[0].count == 3 && !batches[0].followsGap)
      #expect(driver.counters.misreads == 1 && driver.counters.overflows == 0)
    }
  }

  static let errors: [HardwareError] = [
    .timedOut("the clock"), .system("transfer", errno: 5), .arbitrationLost(bus: "playback", address: 0x4A),
  ]

  @Test(arguments: errors)
  func `a transfer that the bus gave up counts as a misread, and reading continues`(_ error: HardwareError) throws {
    let steps =
      flush(5) + [Step("given up", [], read: [0, 0, 0, 0], error: error)]
      + packet("reports", BNO085DriverTests.threeSamples)
    try read(steps) { driver, batches in
      #expect(batches[0].count == 3 && !batches[0].followsGap && driver.counters.misreads == 1)
    }
  }

  @Test func `a chip that did not accept the flush command is read anyway`() throws {
    let steps =
      [Step("given up", [6, 0, 2, 5, 0xF0, 0x07], error: .timedOut("the clock"))]
      + packet("reports", BNO085DriverTests.threeSamples)
    try read(steps) { driver, batches in
      #expect(batches[0].count == 3 && driver.counters.misreads == 1)
    }
  }

  @Test func `a missing chip is an error`() throws {
    let nobody = HardwareError.noAcknowledge(bus: "playback", address: 0x4A)
    let bus = PlaybackBus(
      BNO085DriverTests.start() + [Step("nobody", [6, 0, 2, 5, 0xF0, 0x07], error: nobody)], address: 0x4A)
    let driver = driver(bus)
    try driver.start()
    #expect(throws: nobody) {
      var batch = IMUBatch()
      try driver.read(into: &batch)
    }
    bus.finish()
  }

  static let garbledCargoes: [[UInt8]] = [
    // The packets are wrong in these ways: a lost bit as on a Raspberry Pi, an unknown report number, no time before a
    // report, a truncated report, an absurd time.
    joined([0x7B], Array(sample(1).dropFirst())), joined(timebase(150), [0x3C], sample(1)), gyroscope(1, delay: 0),
    joined(timebase(150), Array(gyroscope(1, delay: 0).dropLast())), joined(timebase(.min), gyroscope(1, delay: 0)),
  ]

  @Test(arguments: garbledCargoes)
  func `an impossible cargo is dropped, and the next sample follows a gap`(_ cargo: [UInt8]) throws {
    let steps = flush(5) + packet("garbled", cargo) + packet("reports", BNO085DriverTests.sample(2))
    try read(steps) { driver, batches in
      #expect(batches[0].count == 1 && batches[0].followsGap && driver.counters.samples == 1)
      #expect(driver.counters.misreads == 1 && driver.counters.overflows == 0)
    }
  }

  private struct SlowBus: I2CBus {
    let bus: PlaybackBus
    let clock: ManualClock
    var name: String { bus.name }
    var maximumReadLength: Int { bus.maximumReadLength }
    func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
      clock.advance(by: .milliseconds(10))
      try bus.transaction(address, operations)
    }
  }

  @Test func `a chip that stretches the clock until it has output is not read again`() throws {
    // The chip has not reported that the flush is complete.
    let steps = flush(5) + packet("reports", BNO085DriverTests.sample(1, isAll: false))
    let bus = PlaybackBus(BNO085DriverTests.start() + steps, address: 0x4A)
    let driver = driver(SlowBus(bus: bus, clock: clock))
    try driver.start()
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(batch.count == 1)
    bus.finish()
  }

  @Test(arguments: [(0x00, 0), (0xFF, 4)] as [(UInt8, Int)])
  func `a hung bus gives no samples`(_ byte: UInt8, _ misreads: Int) throws {
    let hung = Array(repeating: Step("hung", [], read: Array(repeating: byte, count: 4)), count: 4)
    try read(flush(5) + hung) { driver, batches in
      #expect(batches[0].count == 0 && driver.counters.samples == 0 && driver.counters.misreads == misreads)
    }
  }
}
