import HardwareIO
import MonotonicTime
import TestSupport
import Testing

@testable import Devices

/// A sensor that is one IIO device, like the MPU-6050.
struct IIOInertialDriverTests {
  static let axes = ["in_accel_x", "in_accel_y", "in_accel_z", "in_anglvel_x", "in_anglvel_y", "in_anglvel_z"]

  let tree = IIOTree()
  let clock = ManualClock()

  private func driver(_ names: String...) -> any InertialDriver {
    InertialChip.iio(names.map { IIODeviceName($0) }).driver(
      ChipConnection(bus: tree.bus, address: 0, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 200))
  }

  /// Adds a sensor with its own trigger and a temperature among its scans.
  private func addSensor(_ files: [String: String] = [:]) -> IIOPipe {
    let usual = [
      "in_anglvel_scale": "0.001064724",
      "in_anglvel_scale_available": "0.000133090 0.000266181 0.000532362 0.001064724",
      "in_accel_scale": "0.000598", "in_accel_scale_available": "0.000598 0.001196 0.002392 0.004785",
      "in_temp_offset": "12421", "in_temp_scale": "2.941176",
      "sampling_frequency": "50", "sampling_frequency_available": "10 20 50 100 200 500",
    ]
    tree.addDevice(0, "mpu6050", usual.merging(files) { $1 })
    tree.addTrigger(0, "mpu6050-dev0")
    var channels = IIOInertialDriverTests.axes.map { ($0, "be:s16/16>>0") }
    channels.insert(("in_temp", "be:s16/16>>0"), at: 3)
    return tree.addScans(0, channels)
  }

  /// A scan of such a sensor: the accelerometer, the temperature, the gyroscope, and the time after two unused bytes.
  private func scan(
    at nanoseconds: Int64, _ accelerometer: [Int16] = [0, 0, 8192], _ gyroscope: [Int16] = [0, 0, 0],
    temperature: Int16 = 0
  ) -> [UInt8] {
    let numbers = accelerometer + [temperature] + gyroscope
    return joined(numbers.flatMap(\.bigEndianBytes), [0xEE, 0xEE], nanoseconds.littleEndianBytes)
  }

  /// Writes scans at the given times in milliseconds.
  private func scans(_ times: Int64..., to pipe: IIOPipe) {
    for time in times { pipe.write(scan(at: time * 1_000_000)) }
  }

  @Test func `ranges and rate are set, scans are read in SI units, and all settings are restored`() throws {
    let pipe = addSensor()
    let before = tree.settings(0)
    let driver = driver("mpu6050")
    try driver.start()
    #expect(
      tree.journal == [
        "iio:device0/in_anglvel_scale = 0.000266181",
        "iio:device0/in_accel_scale = 0.001196",
        "iio:device0/sampling_frequency = 200",
        "open dev/iio:device0",
        "iio:device0/current_timestamp_clock = monotonic",
        "iio:device0/scan_elements/in_accel_x_en = 1",
        "iio:device0/scan_elements/in_accel_y_en = 1",
        "iio:device0/scan_elements/in_accel_z_en = 1",
        "iio:device0/scan_elements/in_temp_en = 1",
        "iio:device0/scan_elements/in_anglvel_x_en = 1",
        "iio:device0/scan_elements/in_anglvel_y_en = 1",
        "iio:device0/scan_elements/in_anglvel_z_en = 1",
        "iio:device0/scan_elements/in_timestamp_en = 1",
        "iio:device0/buffer/length = 256",
        "iio:device0/buffer/watermark = 4",
        "iio:device0/trigger/current_trigger = mpu6050-dev0",
        "iio:device0/buffer/enable = 1",
      ])
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(batch.count == 0 && batch.temperatureCelsius == nil)
    pipe.write(scan(at: 5_000_000, [0, 0, 1]))
    pipe.write(scan(at: 10_000_123, [0, 4096, -8192], [1000, -1000, 1], temperature: -3000))
    try driver.read(into: &batch)
    #expect(batch.count == 2 && !batch.followsGap)
    #expect(batch[1].at == MonotonicInstant(nanoseconds: 10_000_123))
    let gyroscope = batch[1].gyroscope - SIMD3(0.266181, -0.266181, 0.000266181)
    let accelerometer = batch[1].accelerometer - SIMD3(0, 4.898816, -9.797632)
    #expect((gyroscope * gyroscope).max() < 1e-12 && (accelerometer * accelerometer).max() < 1e-10)
    let temperature = try #require(batch.temperatureCelsius)
    #expect(abs(temperature - 27.708819) < 1e-4)
    #expect(driver.counters.samples == 2)
    driver.stop()
    driver.stop()
    #expect(tree.settings(0) == before && tree.readers(0) == 0)
    #expect(driver.counters.samples == 2)
    // A closed file is not read.
    try driver.read(into: &batch)
    #expect(batch.count == 0)
  }

  @Test func `samples that do not fit into a batch stay for the next batch`() throws {
    let pipe = addSensor()
    let driver = driver("mpu6050")
    try driver.start()
    for index in 0..<100 { pipe.write(scan(at: 5_000_000 * Int64(index))) }
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(batch.count == 96 && batch[95].at == MonotonicInstant(nanoseconds: 475_000_000))
    try driver.read(into: &batch)
    #expect(batch.count == 4 && batch[3].at == MonotonicInstant(nanoseconds: 495_000_000))
    #expect(driver.counters.samples == 100 && driver.counters.overflows == 0)
    driver.stop()
  }

  @Test func `the times of the scans show dropped samples`() throws {
    let pipe = addSensor()
    let driver = driver("mpu6050")
    try driver.start()
    var batch = IMUBatch()
    // A late sample and a missing sample do not count as a gap.
    scans(5, 10, 17, 27, to: pipe)
    try driver.read(into: &batch)
    #expect(batch.count == 4 && !batch.followsGap && driver.counters.overflows == 0)
    scans(32, 45, to: pipe)
    try driver.read(into: &batch)
    #expect(batch.count == 2 && batch.followsGap && driver.counters.overflows == 1)
    scans(50, to: pipe)
    try driver.read(into: &batch)
    #expect(batch.count == 1 && !batch.followsGap)
    driver.stop()
    #expect(driver.counters.overflows == 1)
  }

  @Test func `a sample that is not later than the previous sample is dropped`() throws {
    let pipe = addSensor()
    let driver = driver("mpu6050")
    try driver.start()
    var batch = IMUBatch()
    scans(5, 5, 4, 10, to: pipe)
    try driver.read(into: &batch)
    #expect(batch.count == 2 && driver.counters.misreads == 2 && driver.counters.samples == 2)
    driver.stop()
  }

  @Test(arguments: [0, -1] as [Int16])
  func `a hung bus gives no measurement`(_ nothing: Int16) throws {
    let pipe = addSensor()
    let driver = driver("mpu6050")
    try driver.start()
    var batch = IMUBatch()
    let all = [nothing, nothing, nothing]
    pipe.write(scan(at: 5_000_000, all, all, temperature: nothing))
    try driver.read(into: &batch)
    #expect(batch.count == 0 && driver.counters.misreads == 1)
    // A gyroscope alone may be at rest.
    pipe.write(scan(at: 10_000_000, [nothing, nothing, 5], all))
    try driver.read(into: &batch)
    #expect(batch.count == 1 && driver.counters.misreads == 1)
    driver.stop()
  }

  @Test func `the device tree's mount matrix rotates the axes`() throws {
    let turned = "0, 1, 0; 1, 0, 0; 0, 0, -1"
    let pipe = addSensor(["in_accel_mount_matrix": turned, "in_anglvel_mount_matrix": turned])
    let driver = driver("mpu6050")
    try driver.start()
    pipe.write(scan(at: 1, [1000, 2000, 3000], [10, 20, 30]))
    var batch = IMUBatch()
    try driver.read(into: &batch)
    let accelerometer = batch[0].accelerometer / 0.001196 - SIMD3(2000, 1000, -3000)
    let gyroscope = batch[0].gyroscope / 0.000266181 - SIMD3(20, 10, -30)
    #expect((accelerometer * accelerometer).max() < 1e-4 && (gyroscope * gyroscope).max() < 1e-6)
    driver.stop()
  }

  @Test func `a mirroring mount matrix is refused, and all settings are restored`() {
    let pipe = addSensor(["in_accel_mount_matrix": "1, 0, 0; 0, 1, 0; 0, 0, -1"])
    let before = tree.settings(0)
    let driver = driver("mpu6050")
    #expect(
      throws: HardwareError.unsupported(
        "the axes of IIO device 'mpu6050' at 0x68 are left-handed, because its mount-matrix in the device tree "
          + "mirrors them")
    ) { try driver.start() }
    #expect(tree.settings(0) == before)
    pipe.write([])
  }

  @Test func `a kernel driver without a buffer is refused, and the error says what it needs`() {
    tree.addDevice(0, "mpu6050", ["in_accel_x_raw": "1", "in_anglvel_x_raw": "1"])
    #expect(
      throws: HardwareError.unsupported(
        "the kernel driver of IIO device 'mpu6050' at 0x68 cannot fill a buffer: it needs the chip's interrupt line "
          + "in the "
          + "device tree")
    ) { try driver("mpu6050").start() }
  }

  @Test func `a device that measures something else is refused`() {
    tree.addDevice(0, "lis3mdl", ["in_magn_x_raw": "1"])
    tree.addDevice(1, "st_gyro", ["in_anglvel_x_raw": "1"])
    #expect(throws: HardwareError.unexpectedDevice("none of 'lis3mdl' measures angular rates")) {
      try driver("lis3mdl").start()
    }
    tree.addDevice(2, "other", ["in_accel_x_raw": "1"])
    #expect(throws: HardwareError.unexpectedDevice("none of 'other' and 'lis3mdl' measures angular rates")) {
      try driver("other", "lis3mdl").start()
    }
    #expect(throws: HardwareError.self) { try driver("nothing").start() }
    #expect(tree.journal == [])
  }

  @Test func `a temperature outside the scans is read at intervals`() throws {
    tree.addDevice(0, "bmi160", ["in_temp_input": "31250"])
    tree.addTrigger(0, "bmi160-dev0")
    let pipe = tree.addScans(0, IIOInertialDriverTests.axes.map { ($0, "le:s16/16>>0") })
    let driver = driver("bmi160")
    try driver.start()
    func read(_ time: Int64) throws -> Float? {
      pipe.write(joined([1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0], [0, 0, 0, 0], time.littleEndianBytes))
      var batch = IMUBatch()
      try driver.read(into: &batch)
      // The device states no scales, and its numbers are little-endian.
      #expect(batch.count == 1 && batch[0].accelerometer == SIMD3(1, 2, 3) && batch[0].gyroscope == SIMD3(4, 5, 6))
      return batch.temperatureCelsius
    }
    #expect(try read(1) == 31.25)
    tree.add("sys/bus/iio/devices/iio:device0/in_temp_input", "40000")
    for time in 2...51 { #expect(try read(Int64(time)) == 31.25) }
    #expect(try read(52) == 40)
    driver.stop()
  }

  @Test func `the hub does not wake a chip with a kernel driver or put it to sleep`() throws {
    // The chip has no usable bus; each transaction throws.
    try InertialChip.iio([IIODeviceName("mpu6050")]).sleep(on: tree.bus, address: 0x68)
    #expect(throws: HardwareError.self) {
      try InertialChip.mpu6050.sleep(on: tree.bus, address: 0x68)
    }
  }

  @Test func `the names of two sensors differ if any part of their device names differs`() {
    let one = InertialChip.iio([IIODeviceName("a", address: 0x68)])
    #expect(one == InertialChip.iio([IIODeviceName("a", address: 0x68)]))
    #expect(one != InertialChip.iio([IIODeviceName("a", address: 0x69)]))
    #expect(one != InertialChip.iio([IIODeviceName("a", address: 0x68), IIODeviceName("b")]))
    #expect(one.rate(nearest: 123) == 123)
  }
}
