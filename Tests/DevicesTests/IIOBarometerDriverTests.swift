import HardwareIO
import MonotonicTime
import TestSupport
import Testing

@testable import Devices

struct IIOBarometerDriverTests {
  let tree = IIOTree()
  let clock = ManualClock()

  private func driver(_ name: String) -> any PolledDriver<BarometerSample> {
    BarometerChip.iio(IIODeviceName(name)).driver(
      ChipConnection(bus: tree.bus, address: 0, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: 5))
  }

  private func set(_ file: String, _ text: String) { tree.add("sys/bus/iio/devices/iio:device0/\(file)", text) }

  @Test func `a value that the kernel has converted is read in pascals and degrees`() throws {
    tree.addDevice(
      0, "bme280",
      ["in_pressure_input": "101.325000", "in_temp_input": "21500", "in_humidityrelative_input": "45120"])
    let driver = driver("bme280")
    #expect(try driver.read() == nil)
    try driver.start()
    let sample = try #require(try driver.read())
    #expect(abs(sample.pressurePascals - 101_325) < 1e-6 && abs(sample.temperatureCelsius - 21.5) < 1e-9)
    let humidity = try #require(sample.humidityPercent)
    #expect(abs(humidity - 45.12) < 1e-9)
    #expect(sample.at == clock.now)
    driver.stop()
    #expect(try driver.read() == nil)
  }

  @Test func `a raw value is converted, and the rate is set and restored`() throws {
    tree.addDevice(
      0, "lps22hb",
      [
        "in_pressure_raw": "4150272", "in_pressure_scale": "0.000024414", "in_temp_raw": "-2000",
        "in_temp_offset": "4000", "in_temp_scale": "10.5", "sampling_frequency": "1",
        "sampling_frequency_available": "1 10 25 50 75",
      ])
    let driver = driver("lps22hb")
    try driver.start()
    #expect(tree.says("iio:device0/sampling_frequency") == "10")
    let sample = try #require(try driver.read())
    #expect(abs(sample.pressurePascals - 101_324.740608) < 1e-4)
    #expect(abs(sample.temperatureCelsius - 21) < 1e-9 && sample.humidityPercent == nil)
    driver.stop()
    #expect(tree.says("iio:device0/sampling_frequency") == "1")
  }

  @Test func `an impossible pressure is not a measurement`() throws {
    tree.addDevice(0, "chip", ["in_pressure_input": "0.000000", "in_temp_input": "20000"])
    let driver = driver("chip")
    try driver.start()
    #expect(try driver.read() == nil)
    set("in_pressure_input", "130.5")
    #expect(try driver.read() == nil)
    set("in_pressure_input", "99.5")
    #expect(try driver.read() != nil)
    driver.stop()
  }

  @Test func `a chip that repeats one value forever is not measuring`() throws {
    tree.addDevice(0, "chip", ["in_pressure_input": "100", "in_temp_input": "20000"])
    let driver = driver("chip")
    try driver.start()
    for _ in 0..<31 { #expect(try driver.read() != nil) }
    #expect(try driver.read() == nil)
    // After a restart, the values of the earlier run do not count.
    try driver.start()
    #expect(try driver.read() != nil)
    for _ in 0..<40 { _ = try driver.read() }
    set("in_temp_input", "20010")
    #expect(try driver.read() != nil)
    driver.stop()
  }

  @Test func `a chip that does not answer is an error`() throws {
    tree.addDevice(0, "chip", ["in_pressure_input": "100", "in_temp_input": "20000"])
    let driver = driver("chip")
    try driver.start()
    set("in_pressure_input", "")
    #expect(throws: HardwareError.self) { try driver.read() }
    driver.stop()
  }

  @Test func `a device without pressure or temperature is refused`() {
    tree.addDevice(0, "thermometer", ["in_temp_input": "1"])
    tree.addDevice(1, "gauge", ["in_pressure_input": "1"])
    #expect(throws: HardwareError.unexpectedDevice("IIO device 'thermometer' at 0x68 measures no pressure")) {
      try driver("thermometer").start()
    }
    #expect(throws: HardwareError.unsupported("IIO device 'gauge' at 0x68 measures no temperature")) {
      try driver("gauge").start()
    }
  }
}
