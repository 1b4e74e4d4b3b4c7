import HardwareIO
import TestSupport
import Testing

@testable import Hub

/// Valid settings of a board file that do not work on a machine.
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

  @Test func `the hub warns once the magnetic model has expired`() throws {
    func warnings(_ devices: String, at seconds: Int64) throws -> [String] {
      BoardWarnings.magneticModel(of: try board(devices), at: seconds * 1_000_000_000)
    }
    let gps = "gps: { driver: 'ublox', port: '/dev/gps' }"
    #expect(try warnings(gps, at: 1_893_300_000).isEmpty)
    #expect(try warnings(gps, at: 1_893_600_000).first?.contains("WMM2025 ended with 2029") == true)
    #expect(try warnings("imu: { driver: 'lsm6dsox', bus: '/dev/i2c-1', address: 0x6A }", at: 1_893_600_000).isEmpty)
  }

  @Test func `the hub warns if a budget is used up while all devices rest, and says what to do`() throws {
    func budgets(_ power: String) throws -> [String] {
      BoardWarnings.budgets(
        of: try board(
          "gps: { driver: 'ublox', port: '/dev/gps', power: { currentMilliamperes: 20, supplyVolts: 3, \(power) } }"))
    }
    let gpio = "switch: 'gpio', chip: 'c', line: 'l'"
    #expect(
      try budgets("milliwattHoursPerDay: 500") == [
        "gps: at rest it draws 1440 mWh a day, more than its budget of 500: the budget cannot last; switch its "
          + "supply off, let it sleep, or raise 'milliwattHoursPerDay'"
      ])
    #expect(try budgets("milliwattHoursPerDay: 2000").isEmpty && budgets("").isEmpty)
    #expect(try budgets("\(gpio), milliwattHoursPerDay: 1").isEmpty)
    #expect(try budgets("\(gpio), sleep: 'off', milliwattHoursPerDay: 1").isEmpty)
    // In this sleep mode the receiver draws 0.03 mA, which is 2.2 mWh a day.
    #expect(try budgets("sleep: 'backup', milliwattHoursPerDay: 3").isEmpty)
    #expect(try budgets("\(gpio), sleep: 'backup', milliwattHoursPerDay: 2").count == 1)
  }

  @Test func `the hub warns of an accuracy that no receiver is configured to state, and says what to do`() throws {
    func requests(_ receiver: String, accuracy: String = ", accuracy: 10") throws -> [String] {
      let text =
        "{ name: 'x', devices: { gps: { port: '/dev/gps', \(receiver) } }, "
        + "requests: [{ name: 'log', every: 600\(accuracy) }] }"
      return BoardWarnings.requests(of: try Board(json5: Array(text.utf8), file: "board"))
    }
    let words =
      "request log: the receiver states no accuracy unless it sends GST, and the hub then assumes 12 m times its HDOP: "
      + "fixes hardly ever meet 10 m, and the receiver is on for all of 'within' each time; "
    #expect(
      try requests("driver: 'ublox'") == [words + "set 'messages: \"ubx\"' for it, or raise 'accuracy'"])
    #expect(try requests("driver: 'mediatek'") == [words + "raise 'accuracy'"])
    for receiver in ["driver: 'ublox', messages: 'ubx'", "driver: 'nmea'", "driver: 'auto'"] {
      #expect(try requests(receiver).isEmpty, "\(receiver)")
    }
    #expect(try requests("driver: 'ublox'", accuracy: ", accuracy: 25").isEmpty)
    #expect(try requests("driver: 'ublox'", accuracy: "").isEmpty)
  }

  @Test func `the hub warns if a rate needs more than a bus can carry at its usual speed, and says what to do`() throws
  {
    let fast = "imu: { driver: 'mpu-6050', bus: 'i2c-1', rateHz: 1000 }, mag: { driver: 'lis3mdl', bus: '/dev/i2c-1' }"
    // Each sample takes 12 bytes of 9 clocks, a thousand times a second, plus the overhead.
    #expect(
      try rates(fast) == [
        "/dev/i2c-1 at 100 kHz, the usual speed, would be busy for 113 % of the time (imu 110 %, mag 3 %), and "
          + "samples would be lost: add dtparam=i2c_arm_baudrate=400000 to /boot/firmware/config.txt and restart, if "
          + "all chips on the bus support this speed; or lower 'rateHz'"
      ])
    runBus(atHertz: 400_000)
    #expect(try rates(fast).isEmpty)
  }

  @Test func `if a fast bus cannot carry the rates either, the warning only suggests lower ones`() throws {
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
    // Two buses have room for one sensor each.
    "a: { driver: 'mpu-6050', bus: 'i2c-1', rateHz: 500 }, b: { driver: 'mpu-6050', bus: 'i2c-2', rateHz: 500 }",
  ])
  func `a rate that the bus can carry causes no warning`(_ devices: String) throws {
    #expect(try rates(devices).isEmpty)
  }

  @Test func `the warning about a missing receiver of the kernel does not mention the header's port`() throws {
    tree.add("/usr/bin/raspi-config")
    #expect(
      try devices("gps: { driver: 'nmea', port: '/dev/gnss0' }") == [
        "gps: there is no /dev/gnss0; describe the receiver in the board's device tree, or correct 'port' in the board "
          + "file: ls /dev/gnss* lists the existing ones"
      ])
    #expect(HardwareError.Missing(port: "/dev/gnss0") == .kernelReceiver)
  }

  @Test func `existing ports and buses cause no warning`() throws {
    tree.add("/dev/ttyS0")
    tree.add("/dev/i2c-1")
    tree.add("/dev/pps0")
    #expect(
      try devices(
        "gps: { driver: 'nmea', port: '/dev/ttyS0', pps: '/dev/pps0' }, imu: { driver: 'mpu-6050', bus: '/dev/i2c-1' "
          + "}, "
          + "sim: { driver: 'nmea', port: 'simulated/gps' }, mag: { driver: 'iio', kind: 'magnetometer', name: 'm' }"
      ).isEmpty)
  }

  /// Adds a sensor of a kernel driver, which measures on a trigger.
  private func addSensor(_ number: Int, _ name: String, chip: String, _ channel: String) {
    let folder = "/sys/devices/\(chip)/iio:device\(number)"
    tree.add("\(folder)/name", "\(name)\n")
    tree.add("\(folder)/scan_elements/\(channel)_en", "0\n")
    tree.add("\(folder)/trigger/current_trigger", "\n")
    tree.link("/sys/bus/iio/devices/iio:device\(number)", to: "../../../devices/\(chip)/iio:device\(number)")
  }

  @Test func `a chip without an interrupt line needs the kernel's timers, and the warning says how to load them`()
    throws
  {
    addSensor(0, "lis3mdl", chip: "i2c-1/1-001e", "in_magn_x")
    addSensor(1, "lsm6dsox_accel", chip: "i2c-1/1-006a", "in_accel_x")
    addSensor(2, "lsm6dsox_gyro", chip: "i2c-1/1-006a", "in_anglvel_x")
    let mag = "mag: { driver: 'iio', kind: 'magnetometer', name: 'lis3mdl' }"
    let imu = "imu: { driver: 'iio', kind: 'imu', names: ['lsm6dsox_accel', 'lsm6dsox_gyro'] }"
    let air = "air: { driver: 'iio', kind: 'barometer', name: 'bmp280' }"
    let warnings = try devices("\(mag), \(imu), \(air)")
    #expect(
      warnings.map { String($0.prefix { $0 != "(" }) }
        == ["mag", "imu"].map { "\($0): the kernel has no timers for IIO " })
    let steps =
      "echo iio-trig-hrtimer | sudo tee /etc/modules-load.d/iio-trig-hrtimer.conf "
      + "&& sudo modprobe iio-trig-hrtimer && sudo systemd-tmpfiles --create"
    #expect(warnings.allSatisfy { $0.hasSuffix("/sys/kernel/config/iio/triggers/hrtimer is missing): \(steps)") })
    // The magnetometer's line is connected.
    tree.add("/sys/devices/i2c-1/1-001e/trigger0/name", "lis3mdl-trigger\n")
    tree.link("/sys/bus/iio/devices/trigger0", to: "../../../devices/i2c-1/1-001e/trigger0")
    #expect(try devices(mag).isEmpty)
    #expect(try devices(imu).count == 1)
    tree.add("/sys/kernel/config/iio/triggers/hrtimer/sensorhub-1/name")
    #expect(try devices("\(mag), \(imu)").isEmpty)
  }

  @Test func `on a stock Raspberry Pi, the warning contains the commands that enable a port or bus`() throws {
    tree.add("/proc/device-tree/model", "Raspberry Pi Zero 2 W Rev 1.0\0")
    tree.add("/usr/bin/raspi-config")
    #expect(
      try devices(
        "gps: { driver: 'nmea', port: '/dev/sensorhub/gps', pps: '/dev/pps0' }, "
          + "imu: { driver: 'mpu-6050', bus: '/dev/i2c-1' }") == [
          "gps: there is no /dev/sensorhub/gps; plug the receiver in, or for one on the header's pins: sudo "
            + "raspi-config "
            + "nonint do_serial_cons 1 && sudo raspi-config nonint do_serial_hw 0 && sudo reboot",
          "gps: there is no /dev/pps0, so the time is only as accurate as the serial line: add "
            + "dtoverlay=pps-gpio,gpiopin=18, with the GPIO of the pulse, to /boot/firmware/config.txt and restart",
          "imu: there is no /dev/i2c-1: sudo raspi-config nonint do_i2c 0",
        ])
    // The bus is enabled only in config.txt: it exists, but programs may not use it yet.
    tree.add("/sys/bus/i2c/devices/i2c-1/name")
    let bus = try devices("imu: { driver: 'mpu-6050', bus: '/dev/i2c-1' }")
    #expect(bus.first?.contains("sudo modprobe i2c-dev") == true, "\(bus)")
    // The header has the mini UART, and the board file names the other UART.
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
    let hub = try BoardWarnings.consoles(of: board("gps: { driver: 'nmea', port: '/dev/serial0' }"), on: tree.files)
    #expect(hub == console)
    let uart = try board("gps: { driver: 'nmea', port: '/dev/ttyAMA0' }")
    #expect(BoardWarnings.consoles(of: uart, on: tree.files).isEmpty)
  }

  @Test func `the hub warns of a console that only sysfs shows, and of the debug connector`() throws {
    tree.add("/dev/ttyS0")
    tree.add("/sys/class/tty/console/active", "tty1 ttyS0\n")
    let gps = try board("gps: { driver: 'nmea', port: '/dev/ttyS0' }")
    let warnings = BoardWarnings.consoles(of: gps, on: tree.files)
    #expect(warnings.first?.hasPrefix("gps: the kernel prints its messages on /dev/ttyS0") == true, "\(warnings)")
    #expect(BoardWarnings.consoles(of: gps, on: tree.files) { _ in false }.isEmpty)
    tree.add("/dev/ttyAMA10")
    tree.link("/dev/serial0", to: "ttyAMA10")
    let debug = try BoardWarnings.consoles(of: board("gps: { driver: 'nmea', port: '/dev/serial0' }"), on: tree.files)
    #expect(debug.first?.contains("debug connector") == true, "\(debug)")
  }

  @Test func `on a Raspberry Pi 5, the warning says that serial0 is not the header's port`() throws {
    tree.add("/proc/device-tree/model", "Raspberry Pi 5 Model B Rev 1.0\0")
    tree.add("/usr/bin/raspi-config")
    tree.add("/etc/udev/rules.d/60-sensorhub.rules")
    tree.add("/dev/ttyAMA10")
    tree.link("/dev/serial0", to: "ttyAMA10")
    let enable = "sudo raspi-config nonint do_serial_cons 1 && sudo raspi-config nonint do_serial_hw 0 && sudo reboot"
    for port in ["/dev/sensorhub/gps", "/dev/ttyAMA0"] {
      #expect(
        try devices("gps: { driver: 'nmea', port: '\(port)' }") == [
          "gps: there is no \(port); plug the receiver in, or for one on the header's pins: \(enable)"
        ])
    }
    let warning =
      "gps: /dev/serial0 is this machine's debug connector; for a receiver on the header's pins: port: \"/dev/ttyAMA0\""
    #expect(try devices("gps: { driver: 'nmea', port: '/dev/serial0' }") == [warning])
    // A user who means this port names it directly.
    #expect(try devices("gps: { driver: 'nmea', port: '/dev/ttyAMA10' }").isEmpty)
    tree.add("/dev/ttyAMA0")
    #expect(
      try devices("gps: { driver: 'nmea', port: '/dev/ttyS0' }") == [
        "gps: there is no /dev/ttyS0; the header's UART is /dev/ttyAMA0 here: port: \"/dev/ttyAMA0\""
      ])
  }

  @Test func `on a machine that is not a Raspberry Pi, warnings name only steps that work there`() throws {
    #expect(
      try devices(
        "gps: { driver: 'nmea', port: '/dev/ttyUSB0', pps: '/dev/pps0' }, imu: { driver: 'mpu-6050', bus: "
          + "'/dev/i2c-1' }"
      )
        == [
          "gps: there is no /dev/ttyUSB0; plug the receiver in, and check its port in the board file: sensorhub "
            + "probe finds the port",
          "gps: there is no /dev/pps0, so the time is only as accurate as the serial line: the kernel needs pps-gpio "
            + "for the pulse's line",
          "imu: there is no /dev/i2c-1, and this machine has no other bus; to load the kernel's buses: "
            + "sudo modprobe i2c-dev && "
            + "ls /dev/i2c-*",
        ])
    tree.add("/dev/i2c-7")
    tree.add("/dev/i2c-12")
    #expect(
      try devices("imu: { driver: 'mpu-6050', bus: '/dev/i2c-1' }") == [
        "imu: there is no /dev/i2c-1; this machine has /dev/i2c-7, /dev/i2c-12: sensorhub probe lists its chips"
      ])
  }

  @Test func `if a Raspberry Pi lacks a bus of its header, the warning says how to enable it`() throws {
    tree.add("/proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4\0")
    // The buses of the display connectors are always there.
    tree.add("/dev/i2c-20")
    func bus(_ path: String) throws -> [String] { try devices("imu: { driver: 'mpu-6050', bus: '\(path)' }") }
    // The system is not Raspberry Pi OS.
    let edited =
      "printf '[all]\\ndtparam=i2c_arm=on\\n' | sudo tee -a /boot/firmware/config.txt && sudo reboot"
    #expect(try bus("/dev/i2c-1") == ["imu: there is no /dev/i2c-1: \(edited)"])
    #expect(try bus("/dev/sensorhub/i2c") == ["imu: there is no /dev/sensorhub/i2c: \(edited)"])
    tree.add("/usr/bin/raspi-config")
    #expect(try bus("/dev/i2c-1") == ["imu: there is no /dev/i2c-1: sudo raspi-config nonint do_i2c 0"])
    #expect(
      try bus("/dev/i2c-3") == [
        "imu: there is no /dev/i2c-3; this machine has /dev/i2c-20: sensorhub probe lists its chips"
      ])
  }

  private func fences(_ fences: String, on devices: String = "gps: { driver: 'nmea', port: 'p' }") throws -> [String] {
    BoardWarnings.fences(
      of: try Board(json5: Array("{ name: 'x', devices: { \(devices) }, fences: { \(fences) } }".utf8), file: "board"))
  }

  /// A polygon with corners in metres north and east of the point where the equator meets the first meridian.
  private static func polygon(_ corners: [(Double, Double)]) -> String {
    let places = corners.map { "[\($0.0 / 110_574.276), \($0.1 / 111_319.491)]" }
    return "yard: { polygon: [\(places.joined(separator: ", "))] }"
  }

  @Test func `the hub warns if a circle is too small for the accuracy of fixes, and says what to do`() throws {
    #expect(
      try fences("anchor: { circle: [54.4, 10.2, 6.5] }, far: { circle: [54.4, 10.2, 15] }") == [
        "fence anchor: its radius of 6.5 m is too little for fixes with a usual accuracy of 5 m: "
          + "the hub would be unsure most of the time, and report noise as leaving; make it 15 m or more, or "
          + "give the receiver "
          + "corrections ('ntrip')"
      ])
    let corrected = "gps: { driver: 'nmea', port: 'p', ntrip: { caster: 'ntrip://caster.example/MOUNT' } }"
    #expect(try fences("anchor: { circle: [54.4, 10.2, 6.5] }", on: corrected).isEmpty)
    let small = try fences("anchor: { circle: [54.4, 10.2, 5] }", on: corrected)
    #expect(small.count == 1 && small.first?.hasSuffix("as leaving; make it 6 m or more") == true, "\(small)")
  }

  /// Polygons that are too narrow: a long strip, and two strips at a right angle.
  static let narrow: [[(Double, Double)]] = [
    [(0, 0), (0, 2000), (25, 2000), (25, 0)], [(0, 0), (0, 500), (24, 500), (24, 24), (500, 24), (500, 0)],
  ]

  @Test(arguments: narrow)
  func `the hub warns about a polygon that is narrow everywhere`(_ corners: [(Double, Double)]) throws {
    let warnings = try fences(Self.polygon(corners))
    #expect(
      warnings == [
        "fence yard: it is less than 30 m wide everywhere, which is too little for fixes with a usual accuracy of 5 "
          + "m: the hub would be unsure most of the time, and report noise as leaving; make it wider, or give "
          + "the receiver corrections ('ntrip')"
      ])
  }

  /// Polygons that are wide enough; the second one only at one end.
  static let wide: [[(Double, Double)]] = [
    [(0, 0), (0, 2000), (35, 2000), (35, 0)], [(0, 0), (0, 2000), (40, 2000), (40, 1950), (12, 1950), (12, 0)],
    [(0, 0), (0, 90_000), (90_000, 0)],
  ]

  @Test(arguments: wide)
  func `a polygon that is wide in one place causes no warning`(_ corners: [(Double, Double)]) throws {
    #expect(try fences(Self.polygon(corners)).isEmpty)
  }

  /// The polygon is nearly wide enough along its teeth, which are 90 km long.
  @Test func `a polygon that would take minutes to check causes no warning`() throws {
    var corners: [(Double, Double)] = [(0, 0)]
    for tooth in 0..<62 {
      let east = Double(tooth) * 58
      corners += [(90_000, east), (90_000, east + 29), (30, east + 29), (30, east + 58)]
    }
    corners += [(90_000, 62 * 58), (90_000, 62 * 58 + 29), (0, 62 * 58 + 29)]
    #expect(try fences(Self.polygon(corners)).isEmpty)
  }

  @Test func `the hub warns if a grace is shorter than a receiver needs to start, and says what to do`() throws {
    let hasty = "anchor: { circle: [54.4, 10.2, 40], grace: 2.5 }"
    #expect(
      try fences(hasty) == [
        "fence anchor: a grace of 2.5 s is less than a receiver needs to start, 3 s at best: near the edge the "
          + "receiver could not sleep, and leaving would be noticed later; raise 'grace'"
      ])
    // A receiver that reports more often has its second fix sooner.
    let quick = "gps: { driver: 'ublox', port: 'p', rateHz: 5 }"
    #expect(try fences(hasty, on: quick).isEmpty)
    let slow = "gps: { driver: 'ublox', port: 'p', rateHz: 0.25 }"
    let late = try fences("anchor: { circle: [54.4, 10.2, 40], grace: 5 }", on: slow)
    #expect(late.first?.contains("to start, 6 s at best") == true, "\(late)")
    #expect(try fences("anchor: { circle: [54.4, 10.2, 40], grace: 5 }").isEmpty)
    // A board without any receiver gets another message.
    #expect(try fences(hasty, on: "imu: { driver: 'mpu-6050', bus: 'simulated/i2c' }").isEmpty)
  }
}
