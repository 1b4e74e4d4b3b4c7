import HardwareIO
import MonotonicTime
import Testing

@testable import Devices

struct MPUDriverTests {
  typealias Step = PlaybackBus.Step

  /// The writes that make an MPU-6050 fill its FIFO 100 times a second, 500 degrees per second and 4 g full scale.
  static let start = [
    Step("who are you", [0x75], read: [0x68]),
    Step("reset", [0x6B, 0x80]),
    Step("wake up, clock from the gyroscope", [0x6B, 0x01]),
    Step("low-pass filter 42 Hz", [0x1A, 0x03]),
    Step("1 kHz divided by 10", [0x19, 0x09]),
    Step("500 degrees per second", [0x1B, 0x08]),
    Step("4 g", [0x1C, 0x08]),
    Step("interrupt cleared by any read", [0x37, 0x10]),
    Step("interrupt on data ready", [0x38, 0x01]),
    Step("gyroscope and accelerometer into the FIFO", [0x23, 0x78]),
  ]
  static let restartFIFO = [
    Step("FIFO off", [0x6A, 0x00]), Step("FIFO reset", [0x6A, 0x04]), Step("FIFO on", [0x6A, 0x40]),
  ]

  /// Two frames: one with 1 g down the z axis and 100 units about x, and one with -32768 on all axes.
  static let twoFrames: [UInt8] =
    [0x00, 0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0x64, 0x00, 0x00, 0xFF, 0x9C]
    // The value is one unit above the lower end of the scale, which would be no measurement.
    + Array(repeating: [0x80, 0x01], count: 6).joined()

  static func burst(_ frames: [UInt8]) -> [Step] {
    [
      Step("what happened", [0x3A], read: [0x01]),
      Step("how many bytes", [0x72], read: [UInt8(frames.count >> 8), UInt8(frames.count & 0xFF)]),
      Step("the frames", [0x74], read: frames),
    ]
  }

  let clock = ManualClock()

  private func driver(_ bus: PlaybackBus) -> MPUDriver {
    MPUDriver(
      ChipConnection(bus: bus, address: 0x68, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 100, gyroscopeRange: .dps500, accelerometerRange: .g4))
  }

  @Test func `an MPU-6050 is identified, woken, configured and read in its units`() throws {
    let bus = PlaybackBus(
      MPUDriverTests.start + MPUDriverTests.restartFIFO + MPUDriverTests.burst(MPUDriverTests.twoFrames)
        + [Step("temperature", [0x41], read: [0xF0, 0x4C])] + [Step("sleep", [0x6B, 0x40])])
    let driver = driver(bus)
    try driver.start()
    #expect(driver.model == .mpu6050)
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(batch.count == 2)
    #expect(abs(batch[0].accelerometer.z - 9.80665) < 1e-4)
    let rate: Float = radians(100 * 500 / 32768)
    #expect(abs(batch[0].gyroscope.x - rate) < 1e-6)
    #expect(abs(batch[0].gyroscope.z + rate) < 1e-6)
    let almostFullScale: Float = 4 * 9.80665 * 32767 / 32768
    #expect(abs(batch[1].accelerometer.x + almostFullScale) < 1e-4)
    let temperature = try #require(batch.temperatureCelsius)
    #expect(abs(temperature - 24.7065) < 1e-3)
    // The samples are ten milliseconds apart, and the newest is half a period older than the read.
    #expect(batch[1].at - batch[0].at == .milliseconds(10))
    #expect(clock.now - batch[1].at == .milliseconds(5))
    driver.stop()
    bus.finish()
  }

  @Test func `an MPU-9250 filters its accelerometer too, and has its magnetometer on the bus`() throws {
    var steps = MPUDriverTests.start
    steps[0] = Step("who are you", [0x75], read: [0x71])
    steps[7] = Step("interrupt cleared by any read, bypass", [0x37, 0x12])
    steps.insert(Step("accelerometer filter", [0x1D, 0x03]), at: 7)
    let bus = PlaybackBus(steps + MPUDriverTests.restartFIFO)
    let driver = driver(bus)
    try driver.start()
    #expect(driver.model == .mpu9250)
    bus.finish()
  }

  @Test(arguments: [(0x72, true), (0x98, true), (0x70, false), (0x73, false)] as [(UInt8, Bool)])
  func `clones are recognised as such`(_ id: UInt8, _ isClone: Bool) {
    #expect(MPUModel(rawValue: id)?.isClone == isClone)
  }

  @Test func `a chip of another family is refused by its identity`() {
    let bus = PlaybackBus([Step("who are you", [0x75], read: [0xEA])])
    let driver = driver(bus)
    do throws(HardwareError) {
      try driver.start()
      Issue.record("started")
    } catch {
      #expect("\(error)".contains("0xea"))
    }
    bus.finish()
  }

  @Test func `an address without a chip is reported as empty`() {
    let nobody = HardwareError.noAcknowledge(bus: "playback", address: 0x68)
    let bus = PlaybackBus([Step("who are you", [0x75], read: [0], error: nobody)])
    let driver = driver(bus)
    #expect(throws: nobody) { try driver.start() }
    bus.finish()
  }

  @Test func `a transfer that lost arbitration is repeated`() throws {
    let lost = HardwareError.arbitrationLost(bus: "playback", address: 0x68)
    let bus = PlaybackBus(
      [Step("lost", [0x75], read: [0], error: lost), Step("lost again", [0x75], read: [0], error: lost)]
        + MPUDriverTests.start + MPUDriverTests.restartFIFO)
    try driver(bus).start()
    bus.finish()
  }

  @Test(arguments: [(0x11, 12), (0x01, 1024)] as [(UInt8, Int)])
  func `an overflow empties the FIFO, is counted and marks a gap`(_ status: UInt8, _ waiting: Int) throws {
    let bus = PlaybackBus(
      MPUDriverTests.start + MPUDriverTests.restartFIFO
        + [
          Step("what happened", [0x3A], read: [status]),
          Step("how many bytes", [0x72], read: [UInt8(waiting >> 8), UInt8(waiting & 0xFF)]),
        ] + MPUDriverTests.restartFIFO)
    let driver = driver(bus)
    try driver.start()
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(batch.followsGap)
    #expect(batch.count == 0)
    #expect(driver.counters.overflows == 1)
    bus.finish()
  }

  private static let look = Step("what happened", [0x3A], read: [0x01])
  private static let temperature = Step("temperature", [0x41], read: [0, 0])

  @Test func `a FIFO read that lost arbitration is not repeated, and the next sample follows a gap`() throws {
    let lost = HardwareError.arbitrationLost(bus: "playback", address: 0x68)
    let bus = PlaybackBus(
      MPUDriverTests.start + MPUDriverTests.restartFIFO
        + [
          MPUDriverTests.look, Step("how many bytes", [0x72], read: [0, 24]),
          Step("lost", [0x74], read: Array(repeating: 0, count: 24), error: lost),
        ] + MPUDriverTests.restartFIFO + MPUDriverTests.burst(MPUDriverTests.twoFrames) + [MPUDriverTests.temperature]
        + MPUDriverTests.burst(MPUDriverTests.twoFrames))
    let driver = driver(bus)
    try driver.start()
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(batch.count == 0 && driver.counters.misreads == 1)
    clock.advance(by: .milliseconds(20))
    try driver.read(into: &batch)
    #expect(batch.count == 2 && batch.followsGap)
    clock.advance(by: .milliseconds(20))
    try driver.read(into: &batch)
    #expect(batch.count == 2 && !batch.followsGap)
    bus.finish()
  }

  @Test func `frames that the bus has damaged give no samples`() throws {
    let bus = PlaybackBus(
      MPUDriverTests.start + MPUDriverTests.restartFIFO
        // The chip is still writing a frame, which is complete at the next look.
        + [MPUDriverTests.look, Step("one and a half", [0x72], read: [0, 18])]
        + MPUDriverTests.burst(MPUDriverTests.twoFrames) + [MPUDriverTests.temperature]
        // A repeated read took seven bytes too many.
        + [MPUDriverTests.look, Step("torn", [0x72], read: [0, 17])]
        + [MPUDriverTests.look, Step("still torn", [0x72], read: [0, 41])]
        + MPUDriverTests.restartFIFO + MPUDriverTests.burst(MPUDriverTests.twoFrames))
    let driver = driver(bus)
    try driver.start()
    var batch = IMUBatch()
    var counts: [Int] = []
    for _ in 0..<5 {
      try driver.read(into: &batch)
      counts.append(batch.count)
      clock.advance(by: .milliseconds(20))
    }
    #expect(counts == [0, 2, 0, 0, 2])
    #expect(batch.followsGap && driver.counters.misreads == 1 && driver.counters.overflows == 0)
    bus.finish()
  }

  @Test func `a chip in an unknown state is put to sleep if it belongs to the family`() throws {
    let bus = PlaybackBus([Step("who are you", [0x75], read: [0x71]), Step("sleep", [0x6B, 0x40])])
    try InertialChip.mpu6050.sleep(on: bus, address: 0x68)
    bus.finish()
    let other = PlaybackBus([Step("who are you", [0x75], read: [0xEA])])
    try InertialChip.mpu9250.sleep(on: other, address: 0x68)
    other.finish()
  }

  @Test func `an adapter of short reads gets the frames in whole pieces`() throws {
    let frames = Array(MPUDriverTests.twoFrames + MPUDriverTests.twoFrames)
    let bus = PlaybackBus(
      MPUDriverTests.start + MPUDriverTests.restartFIFO
        + [
          Step("what happened", [0x3A], read: [0x01]), Step("how many bytes", [0x72], read: [0, 48]),
          Step("two frames", [0x74], read: Array(frames[..<24])), Step("two more", [0x74], read: Array(frames[24...])),
          Step("temperature", [0x41], read: [0, 0]),
        ], maximumReadLength: 32)
    let driver = driver(bus)
    try driver.start()
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(batch.count == 4)
    #expect(batch[2].accelerometer == batch[0].accelerometer)
    bus.finish()
  }

  @Test func `an empty FIFO gives an empty batch`() throws {
    let bus = PlaybackBus(
      MPUDriverTests.start + MPUDriverTests.restartFIFO
        + [Step("what happened", [0x3A], read: [0x00]), Step("how many bytes", [0x72], read: [0, 11])])
    let driver = driver(bus)
    try driver.start()
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(batch.count == 0)
    #expect(!batch.followsGap)
    bus.finish()
  }
}
