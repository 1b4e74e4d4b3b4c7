import MonotonicTime
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

  func driver(
    _ bus: any I2CBus, rateHz: Double = 100, dataReady: (any GPIOEdgeInput)? = nil
  ) -> BNO085Driver {
    BNO085Driver(
      ChipConnection(
        bus: bus, address: 0x4A, dataReady: dataReady, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: rateHz))
  }

  /// Starts the driver and reads the given number of times, 20 ms apart; returns the samples of each read.
  func read(
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

  func packet(_ purpose: String, _ cargo: [UInt8]) -> [Step] { BNO085DriverTests.packet(purpose, 3, cargo) }

  func flush(_ sequence: UInt8) -> [Step] { BNO085DriverTests.flush(sequence) }

  /// Reads every 10 ms while an answer is awaited.
  static func unanswered(_ milliseconds: Int, _ byte: UInt8 = 0) -> [Step] {
    Array(
      repeating: Step("no answer", [], read: Array(repeating: byte, count: 4)), count: milliseconds / 10 + 1)
  }
}
