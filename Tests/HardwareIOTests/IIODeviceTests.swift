import HardwareIO
import TestSupport
import Testing

struct IIODeviceTests {
  private func find(_ tree: IIOTree, _ name: IIODeviceName) throws -> Int {
    try IIODevice.find(name, in: tree.system).number
  }

  @Test func `a sensor is found by its name, whatever its number`() throws {
    let tree = IIOTree()
    tree.addDevice(2, "bmp280", chip: "i2c-1/1-0076")
    tree.addDevice(10, "lsm6dsox_gyro", chip: "i2c-1/1-006a")
    tree.addDevice(11, "lsm6dsox_accel", chip: "i2c-1/1-006a")
    #expect(try find(tree, IIODeviceName("lsm6dsox_gyro")) == 10)
    #expect(try IIODevice.find(IIODeviceName("bmp280"), in: tree.system).address == 0x76)
    #expect(IIODevice.all(in: tree.system).map(\.number) == [2, 10, 11])
  }

  @Test func `sensors with the same name are distinguished by address, label and place`() throws {
    let tree = IIOTree()
    tree.addDevice(0, "mpu6050", chip: "i2c-1/1-0068", ["label": "left"])
    tree.addDevice(1, "mpu6050", chip: "i2c-1/1-0069", ["label": "right"])
    tree.addDevice(2, "mpu6050", chip: "spi0/spi0.0")
    #expect(try find(tree, IIODeviceName("mpu6050", address: 0x69)) == 1)
    #expect(try find(tree, IIODeviceName("mpu6050", label: "left")) == 0)
    #expect(try find(tree, IIODeviceName("mpu6050", parent: "\(tree.root)/sys/devices/spi0/spi0.0")) == 2)
    #expect(
      throws: HardwareError.unexpectedDevice(
        "'mpu6050' matches several devices, 'mpu6050' labelled 'left' at 0x68, 'mpu6050' labelled 'right' at 0x69, "
          + "'mpu6050': choose one by its address or label")
    ) { try find(tree, IIODeviceName("mpu6050")) }
  }

  @Test func `if no sensor has the name, the error lists the existing ones`() {
    let tree = IIOTree()
    #expect(throws: HardwareError.notFound("IIO device 'mpu6050' at 0x68: the kernel has no IIO device")) {
      try find(tree, IIODeviceName("mpu6050", address: 0x68))
    }
    tree.addDevice(0, "bmp280", chip: "i2c-1/1-0076")
    tree.addDevice(1, "mpu6050", chip: "i2c-1/1-0069")
    #expect(
      throws: HardwareError.notFound("IIO device 'mpu6050' at 0x68: the kernel has 'bmp280' at 0x76, 'mpu6050' at 0x69")
    ) { try find(tree, IIODeviceName("mpu6050", address: 0x68)) }
    #expect(throws: HardwareError.self) { try find(tree, IIODeviceName("mpu6050", label: "left")) }
    #expect(throws: HardwareError.self) { try find(tree, IIODeviceName("mpu6050", parent: "/no/such/place")) }
    // The beginning of a name does not match.
    #expect(throws: HardwareError.self) { try find(tree, IIODeviceName("bmp")) }
  }

  @Test(
    arguments: [
      ("i2c-1/1-006a", 0x6A), ("i2c-22/22-0077", 0x77), ("i2c-1/1-a050", nil), ("spi0/spi0.0", nil),
      ("platform/chip-0068", nil), ("i2c-1/1-68", nil),
    ] as [(String, UInt8?)])
  func `a sensor's address is that of its chip's folder`(_ chip: String, _ address: UInt8?) throws {
    let tree = IIOTree()
    tree.addDevice(0, "chip", chip: chip)
    #expect(try IIODevice.find(IIODeviceName("chip"), in: tree.system).address == address)
  }

  @Test func `a channel is read from the elements of the scan`() throws {
    let tree = IIOTree()
    tree.addDevice(0, "chip", ["in_temp_scale": "2.5", "in_temp_offset": "-4"])
    _ = tree.addScans(
      0, [("in_accel_x", "be:s16/16>>0"), ("in_temp", "le:s12/16>>4"), ("in_q", "le:s16/16X4>>0")])
    let device = try IIODevice.find(IIODeviceName("chip"), in: tree.system)
    #expect(
      try device.channel("in_temp")
        == IIOChannel(
          name: "in_temp", index: 1, type: IIOElementType("le:s12/16>>4"),
          conversion: IIOConversion(scale: 2.5, offset: -4)))
    #expect(try device.channel("in_accel_x")?.conversion == IIOConversion())
    #expect(try device.channel("in_accel_y") == nil)
    #expect(throws: HardwareError.self) { try device.channel("in_q") }
  }

  @Test func `missing or read-only files are reported`() {
    let files = LinuxIIOFiles()
    #expect(throws: HardwareError.notFound("/no/such/file")) { try files.text("/no/such/file") }
    #expect(throws: HardwareError.notFound("/no/such/file")) { try files.write("1", to: "/no/such/file") }
    #expect(throws: HardwareError.notFound("/no/such/device")) { try files.openDevice("/no/such/device") }
    #expect(throws: HardwareError.inUse("/tmp", holder: nil)) { try files.makeFolder("/tmp") }
    #expect(throws: HardwareError.self) { try files.text("/tmp") }
    #expect(!files.has("/no/such/file") && files.has("/tmp"))
  }
}
