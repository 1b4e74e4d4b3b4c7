import HardwareIO
import TestSupport
import Testing

/// The rates, scales and mounting in sysfs, and values that are read one at a time.
struct IIOAttributesTests {
  struct Choice: Sendable {
    let choices: String
    let choice: Double
    let text: String

    init(_ choices: String, _ choice: Double, _ text: String) {
      self.choices = choices
      self.choice = choice
      self.text = text
    }
  }

  static let rates = "12.500 26.000 52.000 104.000 208.000 416.000"

  @Test(
    arguments: [
      Choice(rates, 1, "12.500"), Choice(rates, 100, "104.000"), Choice(rates, 104, "104.000"),
      // The first requested rate is above an existing rate by a rounding error, and the second one by more.
      Choice(rates, 109, "104.000"), Choice(rates, 110, "208.000"), Choice(rates, 1000, "416.000"),
      Choice("500 10 100", 50, "100"), Choice("500 10 100", 600, "500"), Choice("0 2 4", 0.5, "2"), Choice("7", 3, "7"),
      Choice("[1 1 200]", 99.5, "100"), Choice("[1 1 200]", 100, "100"), Choice("[1 1 200]", 300, "200"),
      Choice("[1 1 200]", 0.2, "1"), Choice("[0.5 0.25 10]", 1.1, "1.250000"), Choice("[10 0 100]", 33.3, "33.300000"),
    ])
  func `the chosen rate is the slowest one that is at least the requested rate`(_ choice: Choice) throws {
    let choices = try #require(IIOChoices(choice.choices))
    #expect(choices.slowest(for: choice.choice).text == choice.text)
  }

  @Test(
    arguments: [
      Choice("0.000133090 0.000266181 0.000532362 0.001064724", 0.000266316, "0.000266181"),
      Choice("0.000133090 0.000266181", 1e-9, "0.000133090"), Choice("1 10", 4, "10"), Choice("1 10", 3, "1"),
      Choice("[0 0.5 10]", 3.3, "3.500000"),
    ])
  func `the chosen scale is the nearest one, as a ratio`(_ choice: Choice) throws {
    let choices = try #require(IIOChoices(choice.choices))
    #expect(choices.nearest(to: choice.choice).text == choice.text)
  }

  @Test(arguments: ["", " ", "fast", "1 x", "0", "0 0.0", "nan", "[1 2]", "[1 1 2 3]", "[5 1 2]", "[]", "[0 0 0]"])
  func `a text that is neither a list nor a range gives no choices`(_ text: String) { #expect(IIOChoices(text) == nil) }

  @Test func `a mount matrix rotates, and may mirror`() throws {
    let turning = try #require(IIOMountMatrix("0, 1, 0; 1, 0, 0; 0, 0, -1"))
    #expect(turning.apply(SIMD3(1, 2, 3)) == SIMD3(2, 1, -3) && !turning.mirrors)
    #expect(IIOMountMatrix("1, 0, 0; 0, 1, 0; 0, 0, -1")?.mirrors == true)
    #expect(IIOMountMatrix("0.707, -0.707, 0; 0.707, 0.707, 0; 0, 0, 1")?.mirrors == false)
    #expect(IIOMountMatrix("1, 0, 0; 0, 1, 0; 0, 0, 1") == .identity)
  }

  @Test(
    arguments: [
      "", "1, 0, 0; 0, 1, 0", "1, 0; 0, 1", "1, 0, 0; 0, 1, 0; 0, 0, 1; 0, 0, 0", "1, 0, 0; 0, 1, 0; 0, 0, x",
      "1, 0, 0; 0, 1, 0; 0, 0, 2", "1, 0, 0; 1, 0, 0; 0, 0, 1", "0, 0, 0; 0, 0, 0; 0, 0, 0",
      "1, 0, 0; 0, 1, 0; 0, 1, 0", "1, 0, 0; 0, 1, 0; nan, 0, 1",
    ])
  func `a mount matrix that does more than rotate and mirror is refused`(_ text: String) {
    #expect(IIOMountMatrix(text) == nil)
  }

  /// A sensor with the given files and those that all sensors have.
  private func device(_ tree: IIOTree, _ files: [String: String]) throws -> IIODevice {
    tree.addDevice(0, "chip", files)
    return try IIODevice.find(IIODeviceName("chip"), in: tree.system)
  }

  @Test func `a channel's own scale takes precedence over the scale of its type`() throws {
    let tree = IIOTree()
    let device = try device(tree, ["in_accel_scale": "0.5", "in_accel_x_scale": "0.25", "in_temp_scale": "3"])
    #expect(try device.number("scale", of: "in_accel_x") == 0.25)
    #expect(try device.number("scale", of: "in_accel_y") == 0.5)
    #expect(try device.number("scale", of: "in_magn_x") == nil)
    #expect(try device.number("offset", of: "in_temp") == nil)
  }

  @Test(arguments: ["in_accel_x_mount_matrix", "in_accel_mount_matrix", "in_mount_matrix", "mount_matrix"])
  func `a mount matrix is found wherever a driver provides it`(_ file: String) throws {
    let tree = IIOTree()
    let device = try device(tree, [file: "0, 1, 0; -1, 0, 0; 0, 0, 1"])
    #expect(try device.mountMatrix(of: "in_accel_x").apply(SIMD3(1, 2, 3)) == SIMD3(2, -1, 3))
  }

  @Test func `without a mount matrix axes stay unchanged, and an invalid one is refused`() throws {
    let tree = IIOTree()
    let device = try device(tree, ["in_magn_mount_matrix": "0, 0, 0; 0, 0, 0; 0, 0, 0"])
    #expect(try device.mountMatrix(of: "in_accel_x") == .identity)
    #expect {
      try device.mountMatrix(of: "in_magn_x")
    } throws: {
      "\($0)".hasPrefix("'0, 0, 0; 0, 0, 0; 0, 0, 0' in ")
        && "\($0)".contains("/in_magn_mount_matrix is not a rotation")
    }
  }

  @Test func `text in place of a number is refused with the file's name`() throws {
    let tree = IIOTree()
    let device = try device(tree, ["in_accel_scale": "much"])
    #expect {
      try device.number("scale", of: "in_accel_x")
    } throws: {
      "\($0)".hasPrefix("'much' in ") && "\($0)".hasSuffix("/in_accel_scale is not a number")
    }
  }

  @Test func `a rate is set to one of the kernel's choices, read back, and restored`() throws {
    let tree = IIOTree()
    let device = try device(
      tree, ["in_accel_sampling_frequency": "12.5", "in_accel_sampling_frequency_available": "12.5 25 50 100"])
    var changes = IIOChanges(tree)
    #expect(try device.setRate(of: "in_accel_x", to: 40, &changes) == 50)
    #expect(tree.journal == ["iio:device0/in_accel_sampling_frequency = 50"])
    #expect(try device.setRate(of: "in_magn_x", to: 40, &changes) == nil)
    changes.revert()
    changes.revert()
    #expect(tree.journal.dropFirst() == ["iio:device0/in_accel_sampling_frequency = 12.5"])
  }

  @Test func `a rate is written as requested if the kernel lists no choices`() throws {
    let tree = IIOTree()
    let device = try device(tree, ["sampling_frequency": "10"])
    var changes = IIOChanges(tree)
    #expect(try device.setRate(of: "in_magn_x", to: 20, &changes) == 20)
    #expect(try device.setRate(of: "in_magn_x", to: 12.5, &changes) == 12.5)
    #expect(
      tree.journal == ["iio:device0/sampling_frequency = 20", "iio:device0/sampling_frequency = 12.500000"])
  }

  @Test func `a value is the kernel's converted one, or computed from its raw one`() throws {
    let tree = IIOTree()
    let device = try device(
      tree,
      [
        "in_pressure_input": "101.325", "in_pressure_raw": "9", "in_temp_raw": "-100", "in_temp_offset": "500",
        "in_temp_scale": "2.5", "in_humidityrelative_raw": "7",
      ])
    #expect(try IIOValue(device, channel: "in_pressure")?.read() == 101.325)
    #expect(try IIOValue(device, channel: "in_temp")?.read() == 1000)
    #expect(try IIOValue(device, channel: "in_temp")?.raw() == -100)
    // A value that sysfs leaves out changes nothing.
    #expect(try IIOValue(device, channel: "in_humidityrelative")?.read() == 7)
    #expect(try IIOValue(device, channel: "in_magn_x") == nil)
    #expect(device.measures("in_temp") && !device.measures("in_magn_x") && !device.scans("in_temp"))
  }
}
