import HardwareIO
import MonotonicTime
import TestSupport
import Testing

@testable import Devices

struct IIOMagnetometerDriverTests {
  let tree = IIOTree()
  let clock = ManualClock()

  private func driver(_ name: String, rateHz: Double = 20) -> any PolledDriver<MagnetometerSample> {
    MagnetometerChip.iio(IIODeviceName(name)).driver(
      ChipConnection(bus: tree.bus, address: 0, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: rateHz))
  }

  private func addScans(_ name: String, _ files: [String: String] = [:]) -> IIOPipe {
    let usual = [
      "in_magn_scale": "0.000146", "sampling_frequency": "1", "sampling_frequency_available": "0.625 1.25 10 20 40 80",
    ]
    tree.addDevice(0, name, chip: "i2c-1/1-001c", usual.merging(files) { $1 })
    return tree.addScans(0, ["x", "y", "z"].map { ("in_magn_\($0)", "le:s16/16>>0") })
  }

  private func scan(_ x: Int16, _ y: Int16, _ z: Int16, at nanoseconds: Int64) -> [UInt8] {
    joined(x.littleEndianBytes, y.littleEndianBytes, z.littleEndianBytes, [0, 0], nanoseconds.littleEndianBytes)
  }

  private func isNear(_ a: SIMD3<Float>, _ b: SIMD3<Float>) -> Bool {
    let error = a - b
    return (error * error).max() < 1e-6
  }

  @Test func `the latest scan is read in microtesla, and only once`() throws {
    let pipe = addScans("lis3mdl")
    tree.addTrigger(0, "lis3mdl-trigger", chip: "i2c-1/1-001c")
    let before = tree.settings(0)
    let driver = driver("lis3mdl")
    try driver.start()
    #expect(tree.says("iio:device0/sampling_frequency") == "20")
    #expect(tree.says("iio:device0/trigger/current_trigger") == "lis3mdl-trigger" && tree.timers == [])
    #expect(try driver.read() == nil)
    pipe.write(scan(1, 2, 3, at: 1_000_000_000))
    pipe.write(scan(3425, -1712, 0, at: 1_050_000_000))
    let sample = try #require(try driver.read())
    #expect(sample.at == MonotonicInstant(nanoseconds: 1_050_000_000))
    #expect(isNear(sample.field, SIMD3(50.005, -24.9952, 0)), "\(sample.field)")
    #expect(try driver.read() == nil)
    driver.stop()
    #expect(tree.settings(0) == before && tree.readers(0) == 0)
    #expect(try driver.read() == nil)
  }

  @Test func `a timer triggers a chip without an interrupt line, at most at the chip's rate`() throws {
    let pipe = addScans("lis3mdl", ["sampling_frequency_available": "0.625 10"])
    let before = tree.settings(0)
    let driver = driver("lis3mdl")
    try driver.start()
    #expect(tree.says("iio:device0/trigger/current_trigger") == "sensorhub-0")
    #expect(tree.says("trigger0/sampling_frequency") == "10")
    pipe.write(scan(3425, 0, 0, at: 1_000_000_000))
    let sample = try #require(try driver.read())
    // The time is half of the chip's period earlier, on average.
    #expect(sample.at == MonotonicInstant(nanoseconds: 950_000_000))
    driver.stop()
    #expect(tree.settings(0) == before && tree.timers == [])
  }

  @Test(arguments: [0, -1] as [Int16])
  func `a hung bus gives no measurement`(_ nothing: Int16) throws {
    // The scale is so coarse that one unit looks like a field.
    let pipe = addScans("coarse", ["in_magn_scale": "0.01"])
    tree.addTrigger(0, "coarse-dev0", chip: "i2c-1/1-001c")
    let driver = driver("coarse")
    try driver.start()
    pipe.write(scan(nothing, nothing, nothing, at: 1_000_000_000))
    #expect(try driver.read() == nil)
    pipe.write(scan(nothing, nothing, 5, at: 1_050_000_000))
    #expect(try driver.read() != nil)
    driver.stop()
  }

  @Test func `without scans, each axis is read separately`() throws {
    tree.addDevice(
      0, "mmc35240",
      [
        "in_magn_x_raw": "100", "in_magn_y_raw": "-200", "in_magn_z_raw": "300", "in_magn_x_scale": "0.001",
        "in_magn_y_scale": "0.002", "in_magn_z_scale": "0.001", "in_magn_offset": "10",
        "in_magn_mount_matrix": "0, 1, 0; 1, 0, 0; 0, 0, -1",
      ])
    let driver = driver("mmc35240")
    try driver.start()
    let sample = try #require(try driver.read())
    #expect(isNear(sample.field, SIMD3(-38, 11, -31)), "\(sample.field)")
    #expect(sample.at == clock.now)
    #expect(tree.journal == [])
    for nothing in ["0", "-1"] {
      for axis in ["x", "y", "z"] { tree.add("sys/bus/iio/devices/iio:device0/in_magn_\(axis)_raw", nothing) }
      #expect(try driver.read() == nil)
    }
    driver.stop()
  }

  @Test func `a chip that repeats one value forever is not measuring`() throws {
    tree.addDevice(0, "chip", ["in_magn_x_raw": "1", "in_magn_y_raw": "2", "in_magn_z_raw": "3"])
    let driver = driver("chip")
    try driver.start()
    for _ in 0..<31 { #expect(try driver.read() != nil) }
    #expect(try driver.read() == nil)
    tree.add("sys/bus/iio/devices/iio:device0/in_magn_x_raw", "2")
    #expect(try driver.read() != nil)
    driver.stop()
  }

  @Test(
    arguments: [
      ("hmc5883l", "0.000009174", 99.9966), ("hmc5883l", "0.000917400", 99.9966), ("other", "0.000009174", 0.999966),
    ])
  func `a scale that is a hundred times too small is corrected`(
    _ name: String, _ scale: String, _ microtesla: Double
  ) throws {
    tree.addDevice(
      0, name, ["in_magn_scale": scale, "in_magn_x_raw": "1090", "in_magn_y_raw": "0", "in_magn_z_raw": "0"])
    let driver = driver(name)
    try driver.start()
    let sample = try #require(try driver.read())
    #expect(abs(Double(sample.field.x) / microtesla - 1) < 1e-5, "\(sample.field)")
    driver.stop()
  }

  @Test func `left-handed axes are converted to right-handed axes`() throws {
    let pipe = addScans("lis2mdl")
    tree.addTrigger(0, "lis2mdl-trigger", chip: "i2c-1/1-001c")
    let driver = driver("lis2mdl")
    try driver.start()
    pipe.write(scan(1000, 2000, 3000, at: 1_000_000_000))
    let sample = try #require(try driver.read())
    #expect(isNear(sample.field, SIMD3(14.6, 29.2, -43.8)), "\(sample.field)")
    driver.stop()
  }

  @Test func `a device that measures something else is refused`() {
    tree.addDevice(0, "bmp280", chip: "i2c-1/1-0076", ["in_pressure_input": "100"])
    #expect(throws: HardwareError.unexpectedDevice("IIO device 'bmp280' at 0x76 measures no magnetic field")) {
      try driver("bmp280").start()
    }
    #expect(throws: HardwareError.self) { try driver("nothing").start() }
  }

  @Test(
    arguments: [
      "iio:device0/sampling_frequency = 20", "make config/iio/triggers/hrtimer/sensorhub-0",
      "trigger0/sampling_frequency = 20", "open dev/iio:device0", "iio:device0/trigger/current_trigger = sensorhub-0",
      "iio:device0/buffer/enable = 1",
    ])
  func `an error during the start restores all settings`(_ entry: String) throws {
    let pipe = addScans("lis3mdl")
    let before = tree.settings(0)
    tree.refuse(entry, .timedOut("the chip"))
    let driver = driver("lis3mdl")
    #expect(throws: HardwareError.timedOut("the chip")) { try driver.start() }
    #expect(tree.settings(0) == before && tree.timers == [] && tree.readers(0) == 0)
    tree.refuseNothing()
    try driver.start()
    pipe.write(scan(3425, 0, 0, at: 1_000_000_000))
    #expect(try driver.read() != nil)
    driver.stop()
  }
}
