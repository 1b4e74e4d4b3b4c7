import HardwareIO
import TestSupport
import Testing

@testable import Hub

/// What is right in a board file and will not do on a machine.
struct BoardWarningsTests {
  private let tree = MachineTree()

  private func board(_ devices: String) throws -> Board {
    try Board(json5: Array("{ name: 'x', devices: { \(devices) } }".utf8), file: "board")
  }

  private func rates(_ devices: String) throws -> [String] {
    BoardWarnings.rates(of: try board(devices), on: tree.files)
  }

  private func devices(_ devices: String) throws -> [String] {
    BoardWarnings.devices(of: try board(devices), on: tree.files)
  }

  private func runBus(atHertz hertz: UInt32) {
    tree.add("/dev/i2c-1")
    tree.add(
      "/sys/bus/i2c/devices/i2c-1/of_node/clock-frequency",
      (0..<4).map { UInt8(truncatingIfNeeded: hertz >> (24 - 8 * $0)) })
  }

  @Test func `a rate that overruns a bus at its usual speed is said, with what to do`() throws {
    let fast = "imu: { driver: 'mpu-6050', bus: 'i2c-1', rateHz: 1000 }, mag: { driver: 'lis3mdl', bus: '/dev/i2c-1' }"
    // 12 bytes of 9 clocks each a thousand times a second, and the rest.
    #expect(
      try rates(fast) == [
        "/dev/i2c-1 at 100 kHz, the usual speed, would be busy for 113 % of the time (imu 110 %, mag 3 %), and samples be "
          + "lost: add dtparam=i2c_arm_baudrate=400000 to /boot/firmware/config.txt and restart, if all its chips can do "
          + "that; or lower 'rateHz'"
      ])
    runBus(atHertz: 400_000)
    #expect(try rates(fast).isEmpty)
  }

  @Test func `what a fast bus cannot carry is for lower rates alone`() throws {
    runBus(atHertz: 400_000)
    let warnings = try rates(
      "a: { driver: 'icm-42688-p', bus: '/dev/i2c-1', rateHz: 1000 }, "
        + "b: { driver: 'icm-42688-p', bus: '/dev/i2c-1', address: 0x69, rateHz: 1000 }, "
        + "c: { driver: 'lsm6dsox', bus: '/dev/i2c-1', rateHz: 833 }")
    #expect(warnings.count == 1)
    #expect(warnings.first?.hasPrefix("/dev/i2c-1 at 400 kHz would be busy for 10") == true, "\(warnings)")
    #expect(warnings.first?.hasSuffix("lost: lower 'rateHz'") == true, "\(warnings)")
  }

  @Test(arguments: [
    "imu: { driver: 'mpu-6050', bus: '/dev/i2c-1' }", "imu: { driver: 'mpu-6050', bus: 'simulated/i2c', rateHz: 1000 }",
    "imu: { driver: 'iio', kind: 'imu', names: ['a', 'b'], rateHz: 1600 }",
    "gps: { driver: 'nmea', port: '/dev/ttyX' }",
    // On two buses, each has room.
    "a: { driver: 'mpu-6050', bus: 'i2c-1', rateHz: 500 }, b: { driver: 'mpu-6050', bus: 'i2c-2', rateHz: 500 }",
  ])
  func `what a bus can carry is no matter`(_ devices: String) throws {
    #expect(try rates(devices).isEmpty)
  }

  @Test func `what a board has that is there is no matter`() throws {
    tree.add("/dev/ttyS0")
    tree.add("/dev/i2c-1")
    tree.add("/dev/pps0")
    #expect(
      try devices(
        "gps: { driver: 'nmea', port: '/dev/ttyS0', pps: '/dev/pps0' }, imu: { driver: 'mpu-6050', bus: '/dev/i2c-1' }, "
          + "sim: { driver: 'nmea', port: 'simulated/gps' }, mag: { driver: 'iio', kind: 'magnetometer', name: 'm' }"
      ).isEmpty)
  }

  @Test func `a stock Raspberry Pi is told the commands`() throws {
    tree.add("/proc/device-tree/model", "Raspberry Pi Zero 2 W Rev 1.0\0")
    tree.add("/usr/bin/raspi-config")
    #expect(
      try devices(
        "gps: { driver: 'nmea', port: '/dev/sensorhub/gps', pps: '/dev/pps0' }, "
          + "imu: { driver: 'mpu-6050', bus: '/dev/i2c-1' }") == [
          "gps: there is no /dev/sensorhub/gps; plug the receiver in, or for one on the header's pins: sudo raspi-config "
            + "nonint do_serial_cons 1 && sudo raspi-config nonint do_serial_hw 0 && sudo reboot",
          "gps: there is no /dev/pps0, so the time is as good as the serial line is: add dtoverlay=pps-gpio,gpiopin=18, "
            + "with the GPIO that the pulse is wired to, to /boot/firmware/config.txt and restart",
          "imu: there is no /dev/i2c-1: sudo raspi-config nonint do_i2c 0",
        ])
    // By config.txt alone: the bus is there, and nobody may use it yet.
    tree.add("/sys/bus/i2c/devices/i2c-1/name")
    let bus = try devices("imu: { driver: 'mpu-6050', bus: '/dev/i2c-1' }")
    #expect(bus.first?.contains("sudo modprobe i2c-dev") == true, "\(bus)")
    // The small UART is the header's where the file says the large one.
    tree.add("/dev/ttyS0")
    tree.link("/dev/serial0", to: "ttyS0")
    #expect(
      try devices("gps: { driver: 'nmea', port: '/dev/ttyAMA0' }") == [
        "gps: there is no /dev/ttyAMA0; the header's UART is /dev/ttyS0 here: port: \"/dev/serial0\""
      ])
    tree.add("/proc/consoles", "ttyS0                -W- (EC   a)    4:64\n")
    let console = try devices("gps: { driver: 'nmea', port: '/dev/serial0' }")
    #expect(
      console.first?.hasPrefix("gps: the kernel prints its messages on /dev/ttyS0; next: sudo raspi-config") == true,
      "\(console)")
  }

  @Test func `elsewhere the commands are others`() throws {
    #expect(
      try devices(
        "gps: { driver: 'nmea', port: '/dev/ttyUSB0', pps: '/dev/pps0' }, imu: { driver: 'mpu-6050', bus: '/dev/i2c-1' }"
      )
        == [
          "gps: there is no /dev/ttyUSB0; plug the receiver in, and see that the file names its port: sensorhub probe finds "
            + "it",
          "gps: there is no /dev/pps0, so the time is as good as the serial line is: the kernel needs pps-gpio for the line "
            + "of the pulse",
          "imu: there is no /dev/i2c-1: enable the bus",
        ])
  }
}
