import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct BMI160DriverTests {
  typealias Step = PlaybackBus.Step

  /// The writes that make the chip fill its FIFO 100 times a second, 500 degrees per second and 4 g full scale.
  static let start = [
    Step("who are you", [0x00], read: [0xD1]),
    Step("reset", [0x7E, 0xB6]),
    Step("accelerometer on", [0x7E, 0x11]),
    Step("gyroscope on", [0x7E, 0x15]),
    Step("accelerometer at 100 Hz", [0x40, 0x28]),
    Step("4 g", [0x41, 0x05]),
    Step("gyroscope at 100 Hz", [0x42, 0x28]),
    Step("500 degrees per second", [0x43, 0x02]),
    Step("both into the FIFO, with headers", [0x47, 0xD0]),
    Step("an empty FIFO", [0x7E, 0xB0]),
  ]
  static let temperature = Step("temperature", [0x20], read: [0x00, 0x02])

  /// A frame with 100 units about x, -100 about z, and 1 g down the z axis.
  static let frame: [UInt8] = [0x8C, 100, 0, 0, 0, 0x9C, 0xFF, 0, 0, 0, 0, 0x00, 0x20]

  static func burst(_ bytes: [UInt8]) -> [Step] {
    [
      Step("how many bytes", [0x22], read: [UInt8(bytes.count & 0xFF), UInt8(bytes.count >> 8)]),
      Step("the frames", [0x24], read: bytes),
    ]
  }

  let clock = ManualClock()

  private func driver(_ bus: any I2CBus) -> BMI160Driver {
    BMI160Driver(
      ChipConnection(bus: bus, address: 0x69, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 100))
  }

  /// Reads each burst; returns the number of samples from it.
  private func read(_ bursts: [UInt8]..., then more: [Step] = [], _ check: (BMI160Driver, IMUBatch) -> Void) throws {
    let bus = PlaybackBus(
      BMI160DriverTests.start + bursts.flatMap { BMI160DriverTests.burst($0) } + more, address: 0x69)
    let driver = driver(bus)
    try driver.start()
    var batch = IMUBatch()
    for _ in bursts {
      clock.advance(by: .milliseconds(20))
      try driver.read(into: &batch)
    }
    check(driver, batch)
    bus.finish()
  }

  @Test func `the driver identifies, wakes, configures and reads the chip, and puts it to sleep`() throws {
    let frames = BMI160DriverTests.frame + BMI160DriverTests.frame
    let sleep = [Step("accelerometer off", [0x7E, 0x10]), Step("gyroscope off", [0x7E, 0x14])]
    try read(frames, then: [BMI160DriverTests.temperature] + sleep) { driver, batch in
      #expect(batch.count == 2 && driver.counters.samples == 2)
      let rate = radians(100 * 500 / 32768)
      #expect(abs(batch[1].gyroscope.x - rate) < 1e-6 && abs(batch[1].gyroscope.z + rate) < 1e-6)
      #expect(abs(batch[1].accelerometer.z - 9.80665) < 1e-4)
      #expect(batch.temperatureCelsius == 24)
      #expect(batch[1].at - batch[0].at == .milliseconds(10))
      driver.stop()
    }
  }

  @Test func `dropped frames are counted, and the next frames follow a gap`() throws {
    // The frame is preceded by a control frame, and its header states the level of a pin.
    let marked = [BMI160DriverTests.frame[0] | 0x01] + BMI160DriverTests.frame.dropFirst()
    let bytes: [UInt8] = [0x40, 17] + [0x48, 0x01] + marked + [0x44, 1, 2, 3] + BMI160DriverTests.frame
    try read(bytes, then: [BMI160DriverTests.temperature]) { driver, batch in
      #expect(batch.count == 2 && batch.followsGap && driver.counters.overflows == 1 && driver.counters.misreads == 0)
    }
  }

  @Test func `a sensor that starts before the other gives no samples`() throws {
    let alone: [UInt8] = [0x84, 1, 2, 3, 4, 5, 6, 0x88, 1, 2, 3, 4, 5, 6]
    try read(alone + BMI160DriverTests.frame, then: [BMI160DriverTests.temperature]) { driver, batch in
      #expect(batch.count == 1 && !batch.followsGap && driver.counters.misreads == 0)
    }
  }

  @Test func `a cut frame is taken at the next read`() throws {
    let cut = BMI160DriverTests.frame + BMI160DriverTests.frame[..<5]
    try read(cut, then: [BMI160DriverTests.temperature]) { driver, batch in
      #expect(batch.count == 1 && driver.counters.misreads == 0)
    }
  }

  @Test(arguments: [0x80, 0x00, 0xFF, 0xC0] as [UInt8])
  func `an invalid frame empties the FIFO and marks a gap`(_ header: UInt8) throws {
    let bytes = BMI160DriverTests.frame + [header] + BMI160DriverTests.frame
    try read(bytes, then: [Step("an empty FIFO", [0x7E, 0xB0])]) { driver, batch in
      #expect(batch.count == 0 && batch.followsGap && driver.counters.misreads == 1 && driver.counters.samples == 0)
    }
  }

  @Test(arguments: [50, 100, 400, 1600] as [Double])
  func `driver and simulated chip agree on rate, units and axes`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedBMI160(name: "twin", world: world, clock: clock) { true }
    let chosen = try #require(InertialChip.all.first { $0.name == "bmi160" })
    try InertialTwinCheck(chip: chosen, bus: chip, address: 0x69, world: world, clock: clock).run(rateHz: rateHz)
  }
}
