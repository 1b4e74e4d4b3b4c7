import Glibc
@testable import HardwareIO
import TestSupport
import Testing

/// A receiver with a driver in the kernel. A named pipe takes the place of `/dev/gnss0`: it has no settings of a
/// terminal either, and this program cannot make a device.
struct GNSSDeviceTests {
  private let tree = MachineTree()
  private var path: String { tree.root + "/dev/gnss0" }
  private var hardware: LinuxHardware { LinuxHardware(on: tree.files) }

  init() throws {
    tree.add("/sys/class/gnss/gnss0/type", "UBX\n")
    tree.add("/dev/null")
    try #require(mkfifo(path, 0o600) == 0)
  }

  @Test func `the kernel's device is read and written as it is, without a speed`() throws {
    let port = try hardware.serialPort(path, speed: .b9600)
    #expect(!port.hasSpeed && port.name == path && port.unsentCount == 0)
    try port.setSpeed(.b115200)
    var bytes = [UInt8](repeating: 0, count: 64)
    #expect(try bytes.withUnsafeMutableBytes { buffer throws(HardwareError) in try port.read(into: buffer) } == 0)
    // A pipe gives back what was written.
    try port.write([0xB5, 0x62, 0x0D, 0x0A])
    #expect(try bytes.withUnsafeMutableBytes { buffer throws(HardwareError) in try port.read(into: buffer) } == 4)
    #expect(bytes.prefix(4) == [0xB5, 0x62, 0x0D, 0x0A])
    // The kernel returns from a write only when all bytes are sent, so each write is short.
    #expect(try port.writeNow([UInt8](repeating: 1, count: 1000)[...]) == GNSSDevice.longestWrite)
  }

  @Test func `only one program at a time reads the kernel's device, and a check does not open it`() throws {
    let first = try hardware.serialPort(path, speed: .b9600)
    #expect(throws: HardwareError.self) { try hardware.serialPort(path, speed: .b9600) }
    // A check that opened the device would fail here, and would power a real receiver.
    try hardware.checkSerialPort(path)
    first.close()
    try hardware.serialPort(path, speed: .b9600).close()
    let missing = tree.root + "/dev/gnss1"
    tree.add("/sys/class/gnss/gnss1/type", "NMEA\n")
    #expect(throws: HardwareError.self) { try hardware.checkSerialPort(missing) }
  }

  @Test func `only a device of the kernel's GNSS subsystem may be something other than a terminal`() throws {
    #expect(GNSSDevice(path, on: tree.files)?.type == "UBX")
    #expect(GNSSDevice(path) == nil || access("/sys/class/gnss/gnss0", F_OK) == 0)
    let pipe = tree.root + "/dev/pipe0"
    try #require(mkfifo(pipe, 0o600) == 0)
    #expect(throws: HardwareError.unsupported("\(pipe) is not a serial port")) {
      try hardware.serialPort(pipe, speed: .b9600)
    }
    #expect(GNSSDevice.isMeant(by: "/dev/gnss0") && !GNSSDevice.isMeant(by: "/dev/ttyS0"))
  }
}
