import Guarding
import MonotonicTime
import Simulation
import Testing

@testable import Devices
@testable import HardwareIO

/// The samples of the reports: their rate, their times, and missing ones.
extension BNO085DriverTests {
  @Test func `missing reports are counted once, and earlier samples of the batch are dropped`() throws {
    let steps =
      flush(5) + packet("the oldest", BNO085DriverTests.sample(1, isAll: false))
      + packet("the newest", BNO085DriverTests.sample(9)) + flush(7)
      + packet("what follows", BNO085DriverTests.sample(10))
    try read(times: 2, steps) { driver, batches in
      #expect(batches.map(\.count) == [1, 1])
      #expect(batches[0].followsGap && !batches[1].followsGap)
      #expect(clock.now - batches[0][0].at == .milliseconds(35))
      #expect(driver.counters.overflows == 1 && driver.counters.misreads == 0 && driver.counters.samples == 2)
    }
  }

  @Test func `missing reports within a cargo are counted once`() throws {
    let cargo = BNO085DriverTests.joined(
      BNO085DriverTests.timebase(300), BNO085DriverTests.gyroscope(1, delay: 0),
      BNO085DriverTests.accelerometer(1, delay: 50), BNO085DriverTests.gyroscope(4, delay: 200),
      BNO085DriverTests.accelerometer(2, delay: 240), BNO085DriverTests.flushed)
    try read(flush(5) + packet("reports", cargo)) { driver, batches in
      #expect(batches[0].count == 1 && batches[0].followsGap && driver.counters.overflows == 1)
      #expect(clock.now - batches[0][0].at == .milliseconds(10))
    }
  }

  @Test func `sequence numbers that repeat after 256 hide no gap`() throws {
    let steps =
      flush(5) + packet("of three seconds ago", BNO085DriverTests.sample(1, isAll: false))
      + packet("of now", BNO085DriverTests.sample(2))
    try read(after: .seconds(3), steps) { driver, batches in
      #expect(batches[0].count == 1 && batches[0].followsGap && driver.counters.overflows == 1)
      #expect(clock.now - batches[0][0].at == .milliseconds(15))
    }
  }

  @Test func `a batch that waited has the time at which it was due`() throws {
    try read(after: .milliseconds(200), flush(5) + packet("reports", BNO085DriverTests.sample(1))) { _, batches in
      // The sample is 10 ms later than the sample of the start, which was 20 ms older than the end of the start.
      #expect(batches[0].count == 1 && clock.now - batches[0][0].at == .milliseconds(210))
    }
  }

  private struct Line: GPIOEdgeInput {
    let fileDescriptor: Int32 = -1
    let edge: @Sendable () -> GPIOEdge?
    func takeEdges() throws(HardwareError) -> (latest: GPIOEdge, count: Int)? { edge().map { ($0, 1) } }
    func close() {}
  }

  @Test(
    arguments: [
      // The age of the edge when the chip is read, 3 ms after the flush command. The last two edges do not belong to
      // its interrupt.
      (2, false, 12_000), (1, false, 11_000), (2, true, 12_850), (4, false, 12_850),
    ] as [(Int, Bool, Int)])
  func `with a wired line, the falling edge gives the time`(_ ago: Int, _ isRising: Bool, _ microseconds: Int) throws {
    let bus = PlaybackBus(
      BNO085DriverTests.start() + flush(5) + packet("reports", BNO085DriverTests.threeSamples), address: 0x4A)
    let clock = clock
    let looks = Guarded(0)
    let line = Line {
      let look = looks.withLock { looks in
        looks += 1
        return looks
      }
      // The first call belongs to the start.
      if look == 1 { return nil }
      clock.advance(by: .milliseconds(3))
      return GPIOEdge(at: clock.now.advanced(by: .milliseconds(-ago)), isRising: isRising, sequence: 0)
    }
    let driver = driver(bus, dataReady: line)
    try driver.start()
    clock.advance(by: .milliseconds(20))
    var batch = IMUBatch()
    try driver.read(into: &batch)
    try #require(batch.count == 3)
    // Without the falling edge the sample clock moves only a little from the expected 13 ms ago to 10.
    let age = clock.now - batch[2].at
    #expect(abs((age - .microseconds(microseconds)).inSeconds) < 1e-8)
    bus.finish()
  }

  @Test func `times follow the data sheet, with delays of fourteen bits and other bases`() {
    let cargo = BNO085DriverTests.joined(
      // T - 12 ms and T - 10.3 ms.
      BNO085DriverTests.timebase(120), BNO085DriverTests.gyroscope(1, delay: 0),
      BNO085DriverTests.gyroscope(2, delay: 17), BNO085DriverTests.gyroscope(3, delay: 0x3FFF),
      BNO085DriverTests.rebase(1000), BNO085DriverTests.accelerometer(4, delay: 5),
      // The interrupt waited until a newer report arrived.
      BNO085DriverTests.timebase(-213), BNO085DriverTests.gyroscope(5, delay: 0))
    cargo.withUnsafeBytes { bytes in
      var reports = BNO085Cargo(bytes)
      var ticks: [Int] = []
      while let report = reports.next() { ticks.append(report.ticks) }
      // The delays are 16383 after the first base, and 1000 and 5 after it.
      let expected = [-120, -103, 16_263, 885, 213]
      #expect(ticks == expected && reports.isWhole)
    }
  }

  @Test func `a gyroscope sample waits for the accelerometer, up to a limit`() {
    func reading(_ milliseconds: Int64, _ x: Float) -> BNO085Pairing.Reading {
      .init(at: MonotonicInstant(nanoseconds: milliseconds * 1_000_000), axes: SIMD3(x, 0, 0))
    }
    var pairing = BNO085Pairing()
    var batch = IMUBatch()
    // If there is no earlier accelerometer sample, the nearest one counts.
    #expect(pairing.append(gyroscope: reading(1, 10), &batch))
    pairing.append(accelerometer: reading(3, 1), &batch)
    #expect(pairing.append(gyroscope: reading(4, 20), &batch) && batch.count == 1)
    pairing.append(accelerometer: reading(7, 2), &batch)
    #expect(batch.count == 2 && batch[0].accelerometer.x == 1 && batch[1].accelerometer.x == 1.25)
    #expect(batch[1].gyroscope.x == 20 && batch[1].at == MonotonicInstant(nanoseconds: 4_000_000))
    // A gyroscope sample that follows a later accelerometer sample is paired at once.
    #expect(pairing.append(gyroscope: reading(5, 30), &batch) && batch.count == 3)
    #expect(batch[2].accelerometer.x == 1.5)
    for number in 0..<64 { #expect(pairing.append(gyroscope: reading(10 + Int64(number), 0), &batch)) }
    #expect(!pairing.append(gyroscope: reading(100, 0), &batch) && batch.count == 3)
    // A sample that finds no room in a batch is in the next one.
    for _ in 0..<60 { batch.append(IMUSample(at: clock.now, gyroscope: .zero, accelerometer: .zero)) }
    pairing.append(accelerometer: reading(80, 0), &batch)
    #expect(batch.count == IMUBatch.capacity)
    batch.removeAll()
    pairing.append(accelerometer: reading(90, 0), &batch)
    #expect(batch.count == 31 && batch[0].at == MonotonicInstant(nanoseconds: 43_000_000))
  }

  @Test(
    arguments: [(10, 50), (50, 50), (52, 50), (60, 100), (200, 200), (250, 400), (401, 400), (1000, 400)]
      as [(Double, Double)])
  func `the rate is not below the requested rate`(_ requested: Double, _ hertz: Double) {
    #expect(BNO085Rate(nearest: requested).hertz == hertz)
  }

  @Test(arguments: [50, 100, 200, 400] as [Double])
  func `driver and simulated chip agree on rate, units and axes`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedBNO085(name: "twin", world: world, clock: clock) { true }
    try InertialTwinCheck(chip: .bno085, bus: chip, address: 0x4A, world: world, clock: clock).run(rateHz: rateHz)
  }
}
