import HardwareIO
import TestSupport
import Testing

/// I2C buses by the kernel's names.
struct I2CBusNumberTests {
  @Test func `I2C buses are the devices with a bus number, in its order`() {
    let tree = MachineTree()
    for name in ["i2c-10", "i2c-relay", "i2c-2", "i2c-", "i2c-1", "i2c-1.old", "ttyS0"] { tree.add("/dev/\(name)") }
    #expect(tree.files.i2cBuses == ["/dev/i2c-1", "/dev/i2c-2", "/dev/i2c-10"])
    #expect(MachineTree().files.i2cBuses.isEmpty)
  }

  @Test(arguments: ["/dev/i2c-relay", "/dev/sensorhub/imu", "/dev/i2c-", "/dev/i2c-+1", "/dev/i2c-1/x", ""])
  func `a bus with a name of its own has no number`(_ path: String) {
    #expect(MachineFiles.number(ofI2CBus: path) == nil)
  }

  @Test func `a bus number is also found in the short name`() {
    #expect(MachineFiles.number(ofI2CBus: "/dev/i2c-13") == 13)
    #expect(MachineFiles.number(ofI2CBus: "i2c-0") == 0)
  }
}
