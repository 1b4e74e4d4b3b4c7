import Guarding
import MonotonicTime
import Simulation
import Testing

@testable import Devices
@testable import HardwareIO

struct BNO085DriverTests {
  typealias Step = PlaybackBus.Step

  /// A packet as it is read: first the header alone, then the whole packet in pieces that each have a header.
  static func packet(_ purpose: String, _ channel: UInt8, _ cargo: [UInt8], longest: Int = 4096) -> [Step] {
    func header(_ left: Int, _ continuation: UInt8) -> [UInt8] {
      [UInt8((left + 4) & 0xFF), UInt8((left + 4) >> 8) | continuation, channel, continuation >> 7]
    }
    var steps = [Step("header of \(purpose)", [], read: header(cargo.count, 0))]
    var left = cargo[...]
    while !left.isEmpty {
      let piece = left.prefix(longest - 4)
      steps.append(Step(purpose, [], read: header(left.count, 0x80) + piece))
      left = left.dropFirst(piece.count)
    }
    return steps
  }

  static let nothing = Step("nothing waits", [], read: [0, 0, 0, 0])

  /// A request for 100 reports a second, in batches of 50 ms.
  static func enable(_ report: UInt8, _ sequence: UInt8) -> Step {
    Step(
      "enable",
      [
        21, 0, 2, sequence, 0xFD, report, 0, 0, 0, 0x10, 0x27, 0, 0, 0x50, 0xC3, 0, 0, 0, 0, 0, 0,
      ])
  }

  static func enabled(_ report: UInt8, _ low: UInt8, _ high: UInt8) -> [UInt8] {
    [0xFC, report, 0, 0, 0, low, high, 0, 0, 0x50, 0xC3, 0, 0, 0, 0, 0, 0]
  }

  static func flush(_ sequence: UInt8) -> [Step] {
    [
      Step("send the gyroscope's", [6, 0, 2, sequence, 0xF0, 0x07]),
      Step("send the accelerometer's", [6, 0, 2, sequence + 1, 0xF0, 0x01]),
    ]
  }

  private static let program: [UInt8] = [0xF8, 4, 3, 2, 0xA8, 0xA5, 0x98, 0, 0x72, 1, 0, 0, 7, 0, 0, 0]
  static let programs = program + program
  static let initialized: [UInt8] = [0xF1, 0, 0x84, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
  static let flushed: [UInt8] = [0xEF, 0x07, 0xEF, 0x01]

  /// A time base report: the time before the interrupt, in units of 100 microseconds.
  static func timebase(_ ticks: Int32) -> [UInt8] { [0xFB] + bytes(ticks) }

  static func rebase(_ ticks: Int32) -> [UInt8] { [0xFA] + bytes(ticks) }

  static func joined(_ parts: [UInt8]...) -> [UInt8] { Array(parts.joined()) }

  private static func bytes(_ number: Int32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * Int32($0))) }
  }

  private static func report(_ id: UInt8, _ sequence: UInt8, _ delay: Int, _ axes: [Int16]) -> [UInt8] {
    let axes = axes.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
    return [id, sequence, UInt8(delay >> 8) << 2 | 3, UInt8(delay & 0xFF)] + axes
  }

  /// A gyroscope report with 1 rad/s about x and -0.5 about z, and a bias that is not used.
  static func gyroscope(_ sequence: UInt8, delay: Int) -> [UInt8] {
    report(0x07, sequence, delay, [512, 0, -256, 512, 512, 512])
  }

  /// An accelerometer report with a multiple of 2 m/s² along x, and 9.8 along z.
  static func accelerometer(_ sequence: UInt8, delay: Int, _ x: Int16 = 0) -> [UInt8] {
    report(0x01, sequence, delay, [512 * x, 0, 2511])
  }

  /// The two reports of a sample, and the flush reports that complete them.
  static func sample(_ sequence: UInt8, ticks: Int32 = 150, isAll: Bool = true) -> [UInt8] {
    joined(
      timebase(ticks), gyroscope(sequence, delay: 0), accelerometer(sequence, delay: 80), isAll ? flushed : [])
  }

  /// The packets of the start at 100 samples a second. The first sample is 20 ms older than the end of the start, and
  /// its accelerometer report is 12 ms older.
  static func start(longest: Int = 4096, starting: [Step] = []) -> [Step] {
    func packet(_ purpose: String, _ channel: UInt8, _ cargo: [UInt8]) -> [Step] {
      BNO085DriverTests.packet(purpose, channel, cargo, longest: longest)
    }
    let parts: [[Step]] = [
      [Step("reset", [5, 0, 1, 0, 1])], starting,
      packet("the advertisement", 0, [0x00, 0x01, 0x04, 0, 0, 0, 0]),
      packet("it is initialized", 2, initialized),
      packet("the reset is complete", 1, [1]),
      [Step("who are you", [6, 0, 2, 0, 0xF9, 0])],
      packet("two programs", 2, programs),
      [enable(0x01, 1)],
      packet("two more programs", 2, programs),
      packet("accelerometer at 125 Hz", 2, enabled(0x01, 0x40, 0x1F)),
      [enable(0x07, 2)],
      packet("gyroscope at 100 Hz", 2, enabled(0x07, 0x10, 0x27)),
      flush(3),
      packet("the first reports", 3, sample(0, ticks: 200)),
    ]
    return Array(parts.joined())
  }

  /// Three samples, 30, 20 and 10 ms old. The first is 10 ms later than the sample of the start.
  static let threeSamples = joined(
    timebase(300), gyroscope(1, delay: 0), accelerometer(1, delay: 80, 1), gyroscope(2, delay: 100),
    accelerometer(2, delay: 160, 2), gyroscope(3, delay: 200), accelerometer(3, delay: 240, 3), flushed)

  let clock = ManualClock()

  private func driver(
    _ bus: any I2CBus, rateHz: Double = 100, dataReady: (any GPIOEdgeInput)? = nil
  ) -> BNO085Driver {
    BNO085Driver(
      ChipConnection(
        bus: bus, address: 0x4A, dataReady: dataReady, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: rateHz))
  }

  /// Starts the driver and reads the given number of times, 20 ms apart; returns the samples of each read.
  private func read(
    times: Int = 1, after pause: Duration = .milliseconds(20), _ steps: [Step],
    _ check: (BNO085Driver, [IMUBatch]) throws -> Void
  ) throws {
    let bus = PlaybackBus(BNO085DriverTests.start() + steps, address: 0x4A)
    let driver = driver(bus)
    try driver.start()
    #expect(driver.counters == InertialCounters())
    var batches: [IMUBatch] = []
    for _ in 0..<times {
      clock.advance(by: pause)
      var batch = IMUBatch()
      try driver.read(into: &batch)
      batches.append(batch)
    }
    try check(driver, batches)
    bus.finish()
  }

  private func packet(_ purpose: String, _ cargo: [UInt8]) -> [Step] { BNO085DriverTests.packet(purpose, 3, cargo) }

  private func flush(_ sequence: UInt8) -> [Step] { BNO085DriverTests.flush(sequence) }

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

  /// Reads every 10 ms while an answer is awaited.
  private static func unanswered(_ milliseconds: Int, _ byte: UInt8 = 0) -> [Step] {
    Array(
      repeating: Step("no answer", [], read: Array(repeating: byte, count: 4)), count: milliseconds / 10 + 1)
  }

  @Test(arguments: [0x00, 0xFF] as [UInt8])
  func `another chip and a hung bus are refused`(_ byte: UInt8) {
    let silence = BNO085DriverTests.unanswered(200, byte)
    let bus = PlaybackBus(
      [Step("reset", [5, 0, 1, 0, 1])] + silence + [Step("who are you", [6, 0, 2, 0, 0xF9, 0])] + silence,
      address: 0x4A)
    #expect(
      throws: HardwareError.unexpectedDevice("the chip at 0x4a on playback is not a BNO085, BNO080 or BNO086")
    ) { try driver(bus).start() }
    bus.finish()
  }

  @Test func `an address without a chip is reported as empty`() {
    let nobody = HardwareError.noAcknowledge(bus: "playback", address: 0x4A)
    let bus = PlaybackBus([Step("reset", [5, 0, 1, 0, 1], error: nobody)], address: 0x4A)
    #expect(throws: nobody) { try driver(bus).start() }
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

  @Test(arguments: [(0x00, 0), (0xFF, 4)] as [(UInt8, Int)])
  func `a hung bus gives no samples`(_ byte: UInt8, _ misreads: Int) throws {
    let hung = Array(repeating: Step("hung", [], read: Array(repeating: byte, count: 4)), count: 4)
    try read(flush(5) + hung) { driver, batches in
      #expect(batches[0].count == 0 && driver.counters.samples == 0 && driver.counters.misreads == misreads)
    }
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

  @Test(
    arguments: [
      ([[0x14, 0x01, 0, 0], [0x14, 0x81, 0, 1]], true), ([[0x14, 0x81, 0, 5], [0x14, 0x81, 0, 5]], true),
      ([[0x57, 0x00, 3, 255], [0x57, 0x80, 3, 0]], true),
      // The second headers are wrong in these ways: no continuation, another packet, another channel, another number,
      // and bytes that cannot be a header.
      ([[0x14, 0x01, 0, 0], [0x14, 0x01, 0, 0]], false), ([[0x14, 0x01, 0, 0], [0x15, 0x81, 0, 1]], false),
      ([[0x14, 0x01, 0, 0], [0x14, 0x81, 2, 1]], false), ([[0x14, 0x01, 0, 0], [0x14, 0x81, 0, 7]], false),
      ([[0x19, 0x00, 0x19, 0x00]], false), ([[0, 0, 0, 0]], false), ([[0xFF, 0xFF, 0xFF, 0xFF]], false),
    ] as [([[UInt8]], Bool)])
  func `two headers of one packet identify a chip`(_ headers: [[UInt8]], _ isTold: Bool) throws {
    let bus = PlaybackBus(headers.map { Step("header", [], read: $0) }, address: 0x4B)
    let registers = I2CRegisters(bus, address: 0x4B, capacity: ChipIdentity.longest)
    #expect(try InertialChip.bno085.identity.isTrue(of: registers) == isTold)
    bus.finish()
  }

  @Test func `a search on an adapter that cannot read without a register finds no chip and continues`() throws {
    let bus = PlaybackBus(
      [Step("header", [], read: [0, 0, 0, 0], error: .system("transfer", errno: 95))], address: 0x4A)
    let registers = I2CRegisters(bus, address: 0x4A, capacity: ChipIdentity.longest)
    #expect(try InertialChip.bno085.identity.isTrue(of: registers) == false)
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

  private final class Witness: I2CBus {
    let written = Guarded(0)
    private let bus: SimulatedBNO085
    var name: String { bus.name }
    var maximumReadLength: Int { bus.maximumReadLength }

    init(_ bus: SimulatedBNO085) { self.bus = bus }

    func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
      if address == bus.address { for case .write in operations { written.withLock { $0 += 1 } } }
      try bus.transaction(address, operations)
    }
  }

  @Test func `a chip that was just switched on is found without a write, and can be started`() throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedBNO085(name: "twin", world: world, clock: clock, address: 0x4B) { true }
    let bus = Witness(chip)
    let found = try ChipProbe.find(on: bus).map { finding in
      if case .chip(let chip, let address) = finding { "\(chip.driver?.name ?? "-") \(address)" } else { "?" }
    }
    #expect(found == ["bno085 75"])
    #expect(bus.written.withLock { $0 } == 0)
    let driver = BNO085Driver(
      ChipConnection(bus: chip, address: 0x4B, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 200))
    try driver.start()
    clock.advance(by: .milliseconds(40))
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect((7...9).contains(batch.count) && !batch.followsGap)
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

  @Test(arguments: [50, 100, 200, 400] as [Double])
  func `driver and simulated chip agree on rate, units and axes`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedBNO085(name: "twin", world: world, clock: clock) { true }
    try InertialTwinCheck(chip: .bno085, bus: chip, address: 0x4A, world: world, clock: clock).run(rateHz: rateHz)
  }
}
