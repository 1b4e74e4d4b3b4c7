import HardwareIO
import MonotonicTime
import TestSupport
import Testing

@testable import Devices

/// A sensor that is two IIO devices, like the LSM6DSOX. Its interrupt line is not wired, so one timer triggers both.
struct IIOTwoDevicesTests {
  /// The sampling period of 104 Hz in nanoseconds.
  static let period: Int64 = 9_615_384
  /// The average age of a sample that the timer triggers: half a period of the chip.
  static let lag: Int64 = 4_807_692

  let tree = IIOTree()
  let clock = ManualClock()

  private func addHalf(_ number: Int, _ name: String, _ quantity: String, scales: String) -> IIOPipe {
    tree.addDevice(
      number, name, chip: "i2c-1/1-006a",
      [
        "\(quantity)_scale": "0.1", "\(quantity)_scale_available": scales, "sampling_frequency": "12.500",
        "sampling_frequency_available": "12.500 26.000 52.000 104.000 208.000",
      ])
    return tree.addScans(number, ["x", "y", "z"].map { ("\(quantity)_\($0)", "le:s16/16>>0") })
  }

  private func addAccelerometer(_ name: String = "lsm6dsox_accel") -> IIOPipe {
    addHalf(0, name, "in_accel", scales: "0.000598 0.001196 0.002392 0.004785")
  }

  private func addGyroscope(_ name: String = "lsm6dsox_gyro") -> IIOPipe {
    addHalf(1, name, "in_anglvel", scales: "0.000152716 0.000305432 0.000610865 0.001221730")
  }

  private func driver(_ names: String...) -> any InertialDriver {
    InertialChip.iio(names.map { IIODeviceName($0) }).driver(
      ChipConnection(bus: tree.bus, address: 0, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 104))
  }

  private func scan(_ x: Int16, _ y: Int16, _ z: Int16, at nanoseconds: Int64) -> [UInt8] {
    joined(x.littleEndianBytes, y.littleEndianBytes, z.littleEndianBytes, [0xEE, 0xEE], nanoseconds.littleEndianBytes)
  }

  /// Writes these samples of both devices. The accelerometer's are 0.4 ms earlier, and each has a thousand units more
  /// than the previous one.
  private func write(_ range: Range<Int>, _ accelerometer: IIOPipe, _ gyroscope: IIOPipe) {
    for index in range {
      let at = 1_000_000_000 + Int64(index) * IIOTwoDevicesTests.period
      accelerometer.write(scan(Int16(1000 * index), 7, 8192, at: at - 400_000))
      gyroscope.write(scan(Int16(index), 100, -200, at: at))
    }
  }

  @Test func `one timer triggers both devices, and their samples are paired by time`() throws {
    let (accelerometer, gyroscope) = (addAccelerometer(), addGyroscope())
    // The driver finds out which device is which.
    let driver = driver("lsm6dsox_accel", "lsm6dsox_gyro")
    try driver.start()
    #expect(tree.timers == ["sensorhub-1"] && tree.says("trigger0/sampling_frequency") == "104")
    for device in ["iio:device0", "iio:device1"] {
      #expect(tree.says("\(device)/trigger/current_trigger") == "sensorhub-1")
      #expect(tree.says("\(device)/sampling_frequency") == "104.000")
      #expect(tree.says("\(device)/buffer/enable") == "1")
    }
    #expect(tree.says("iio:device1/in_anglvel_scale") == "0.000305432")
    write(0..<5, accelerometer, gyroscope)
    var batch = IMUBatch()
    try driver.read(into: &batch)
    try #require(batch.count == 5)
    #expect(!batch.followsGap && batch.temperatureCelsius == nil)
    for index in 0..<5 {
      let sample = batch[index]
      let at = 1_000_000_000 + Int64(index) * IIOTwoDevicesTests.period - IIOTwoDevicesTests.lag
      #expect(sample.at == MonotonicInstant(nanoseconds: at))
      #expect(abs(sample.gyroscope.x / 0.000305432 - Float(index)) < 1e-3)
      #expect(abs(sample.gyroscope.z / 0.000305432 + 200) < 1e-3)
      // The value is interpolated between two accelerometer samples; there is only one next to the newest.
      let units = Float(1000 * index) + (index < 4 ? 41.6 : 0)
      #expect(abs(sample.accelerometer.x / 0.001196 - units) < 0.01, "\(index)")
      #expect(abs(sample.accelerometer.z / 0.001196 - 8192) < 0.01)
    }
    var counters = InertialCounters()
    counters.samples = 5
    #expect(driver.counters == counters)
    driver.stop()
  }

  @Test func `the stop ends the scans, then the triggers, then the timer, and restores the rates`() throws {
    let pipes = (addAccelerometer(), addGyroscope())
    let before = (tree.settings(0), tree.settings(1))
    let driver = driver("lsm6dsox_gyro", "lsm6dsox_accel")
    try driver.start()
    tree.forgetJournal()
    driver.stop()
    let journal = tree.journal
    func place(_ entry: String) throws -> Int { try #require(journal.firstIndex(of: entry), "\(entry)") }
    let timer = try place("remove config/iio/triggers/hrtimer/sensorhub-1")
    for device in ["iio:device0", "iio:device1"] {
      let trigger = try place("\(device)/trigger/current_trigger = ")
      #expect(try place("\(device)/buffer/enable = 0") < trigger)
      #expect(trigger < timer)
      #expect(try timer < place("\(device)/sampling_frequency = 12.500"))
    }
    #expect(tree.settings(0) == before.0 && tree.settings(1) == before.1)
    #expect(tree.timers == [] && tree.readers(0) == 0 && tree.readers(1) == 0)
    pipes.0.write([])
  }

  @Test(
    arguments: [
      "iio:device1/in_anglvel_scale = 0.000305432", "iio:device0/sampling_frequency = 104.000",
      "trigger0/sampling_frequency = 104", "open dev/iio:device1", "iio:device1/buffer/enable = 1",
      "open dev/iio:device0", "iio:device0/current_timestamp_clock = monotonic",
      "iio:device0/trigger/current_trigger = sensorhub-1", "iio:device0/buffer/enable = 1",
    ])
  func `an error during the start restores all settings`(_ entry: String) throws {
    let pipes = (addAccelerometer(), addGyroscope())
    let before = (tree.settings(0), tree.settings(1))
    tree.refuse(entry, .timedOut("the chip"))
    let driver = driver("lsm6dsox_gyro", "lsm6dsox_accel")
    #expect(throws: HardwareError.timedOut("the chip")) { try driver.start() }
    #expect(tree.settings(0) == before.0 && tree.settings(1) == before.1)
    #expect(tree.timers == [] && tree.readers(0) == 0 && tree.readers(1) == 0)
    // The same driver can try again.
    tree.refuseNothing()
    try driver.start()
    #expect(tree.readers(0) == 1 && tree.readers(1) == 1)
    driver.stop()
    pipes.0.write([])
  }

  @Test func `a sample waits for the accelerometer`() throws {
    let (accelerometer, gyroscope) = (addAccelerometer(), addGyroscope())
    let driver = driver("lsm6dsox_gyro", "lsm6dsox_accel")
    try driver.start()
    var batch = IMUBatch()
    gyroscope.write(scan(1, 2, 3, at: 1_000_000_000))
    try driver.read(into: &batch)
    #expect(batch.count == 0)
    accelerometer.write(scan(4, 5, 6, at: 1_000_000_000))
    try driver.read(into: &batch)
    #expect(batch.count == 1 && driver.counters.misreads == 0)
    driver.stop()
  }

  @Test func `gyroscope samples before the accelerometer started or during its pause are dropped`() throws {
    let (accelerometer, gyroscope) = (addAccelerometer(), addGyroscope())
    let driver = driver("lsm6dsox_gyro", "lsm6dsox_accel")
    try driver.start()
    var batch = IMUBatch()
    let (start, period) = (Int64(1_000_000_000), IIOTwoDevicesTests.period)
    for index in 0..<4 { gyroscope.write(scan(1, 2, 3, at: start + Int64(index) * period)) }
    for index in 2..<4 { accelerometer.write(scan(4, 5, 6, at: start + Int64(index) * period)) }
    try driver.read(into: &batch)
    // The samples from before the accelerometer started do not count as misreads.
    #expect(batch.count == 2 && !batch.followsGap && driver.counters.misreads == 0)
    for index in 4..<10 { gyroscope.write(scan(1, 2, 3, at: start + Int64(index) * period)) }
    for index in [8, 9] { accelerometer.write(scan(4, 5, 6, at: start + Int64(index) * period)) }
    try driver.read(into: &batch)
    #expect(batch.count == 2 && batch.followsGap && driver.counters.misreads == 4)
    // The gap is a gap of the accelerometer.
    #expect(driver.counters.overflows == 1)
    driver.stop()
  }

  @Test func `left-handed axes are converted, unless the device tree does so`() throws {
    let (accelerometer, gyroscope) = (addAccelerometer("lsm9ds1-imu_accel"), addGyroscope("lsm9ds1-imu_gyro"))
    tree.add("sys/bus/iio/devices/iio:device1/mount_matrix", "1, 0, 0; 0, -1, 0; 0, 0, 1")
    let driver = driver("lsm9ds1-imu_gyro", "lsm9ds1-imu_accel")
    try driver.start()
    accelerometer.write(scan(1000, 2000, 3000, at: 1_000_000_000))
    gyroscope.write(scan(100, 200, 300, at: 1_000_000_000))
    var batch = IMUBatch()
    try driver.read(into: &batch)
    try #require(batch.count == 1)
    let accelerometerError = batch[0].accelerometer / 0.001196 - SIMD3(1000, 2000, -3000)
    let gyroscopeError = batch[0].gyroscope / 0.000305432 - SIMD3(100, -200, 300)
    #expect((accelerometerError * accelerometerError).max() < 1e-4)
    #expect((gyroscopeError * gyroscopeError).max() < 1e-4)
    driver.stop()
  }
}
