import Devices
import HardwareIO
import Publishing
import TestSupport
import Testing

@testable import Hub

struct BoardFileTests {
  @Test func `the page's address in the board file is a name or an address that other machines can reach`() throws {
    for (http, page) in [
      ("{}", nil), ("{ address: '0.0.0.0' }", nil), ("{ hosts: ['boat.local'] }", nil),
      ("{ address: '0.0.0.0', hosts: ['boat.local'] }", "http://boat.local:8080/"),
      ("{ address: '192.168.1.5', port: 81 }", "http://192.168.1.5:81/"),
      ("{ address: 'fd00::5' }", "http://[fd00::5]:8080/"),
    ] {
      let board = try Board(json5: Array("{ name: 'x', devices: {}, http: \(http) }".utf8), file: "board")
      #expect(board.http?.pageAddress == page, "\(http)")
    }
  }

  @Test(arguments: [
    "raspberry-pi-5", "raspberry-pi-4", "raspberry-pi-3", "raspberry-pi-zero-2-w", "raspberry-pi-compute-module",
    "pc-usb",
    "simulated",
  ])
  func `the board files that come with the hub are valid`(_ name: String) throws {
    let board = try Board(file: SharedData.packageFolder + "/boards/\(name).json5")
    #expect(board.receiver != nil)
    #expect((board.imu != nil) == (name != "pc-usb"))
    guard name != "simulated" else { return }
    // The boards name no lines, because only the owner knows the wiring.
    #expect(board.lines.isEmpty)
    // The tty of the header's UART depends on the machine's configuration, so the boards name udev's link.
    #expect(board.receiver?.port == "/dev/sensorhub/gps")
    #expect(BoardWarnings.rates(of: board, on: MachineFiles(root: "/nowhere")).isEmpty)
  }

  @Test func `the hub understands every key of a board file`() throws {
    let board = try read(
      """
      {
        name: 'test', // a comment
        devices: { gps: { driver: "nmea", port: "/dev/ttyX", speed: 38400, leverArmMetres: [1, -2.5, +.5],
          power: { switch: "gpio", chip: "chip", line: "7", activeLow: true, settleMilliseconds: 20,
            currentMilliamperes: 30, supplyVolts: 5, lingerSeconds: 1.5, minimumOnSeconds: 2, minimumOffSeconds: 3, }, },
          imu: { driver: "mpu-9250", bus: "/dev/i2c-7", address: 0x69, rateHz: 1000, burstRateHz: 40,
          gyroscopeRangeDegreesPerSecond: 2000, accelerometerRangeG: 16, mount: [[0,1,0],[1,0,0],[0,0,-1]], } },
        state: { rateHz: 4 }, journal: { state: true },
      }
      """)
    #expect(board.receiver?.speed == .b38400)
    #expect(board.receiver?.leverArmMetres == SIMD3(1, -2.5, 0.5))
    #expect(board.receiver?.power.switch == .gpio(GPIOLineName(chip: "chip", line: "7"), activeLow: true))
    #expect(board.receiver?.power.timing.idleTimeout == .milliseconds(1500))
    #expect(board.receiver?.power.milliwatts == 150)
    #expect(board.imu?.place.address == 0x69)
    #expect(board.imu?.rateHz == 1000)
    #expect(board.imu?.mount.apply(SIMD3(1, 2, 3)) == SIMD3(2, 1, -3))
    #expect(board.stateRateHz == 4)
    #expect(board.journalsState)
  }

  @Test func `a receiver on a network draws nothing from the board unless the file says otherwise`() throws {
    for (section, milliwatts) in [
      ("port: '/dev/ttyX'", 132.0), ("port: 'gpsd://boat.local'", 0), ("port: 'tcp://boat.local:10110'", 0),
      ("port: 'tcp://boat.local:10110', power: { currentMilliamperes: 10 }", 33),
    ] {
      let power = try read("{ name: 'x', devices: { gps: { driver: 'nmea', \(section) } } }").receiver?.power
      #expect(power?.milliwatts == milliwatts && power?.standbyMilliwatts == milliwatts, "\(section)")
    }
  }

  static let mistakes: [(text: String, message: String)] = [
    ("{", "board:1: the file ends where a key should be"),
    ("{ name: 'x'\n devices: {} }", "board:2: 'd' where ',' or '}' should follow the value of 'name'"),
    ("{ name: x }", "board:1: 'x' is not a value; a string needs quotes"),
    ("{ name: 'x', name: 'y' }", "board:1: the key 'name' appears twice"),
    ("/* never", "board:1: a comment is not closed by */"),
    ("[1]", "board:1: the file must be one object: { … }"),
    ("{}", "board:1: 'name' is missing"),
    ("{ name: 5 }", "board:1: 'name' must be a string"),
    ("\u{FEFF}{ name: 5 }", "board:1: 'name' must be a string"),
    ("{ name: 'x', devices: { gps: { driver: 'nmea' } } }", "board:1: 'devices.gps.port' is missing"),
    ("{ name: 'x',\n devcies: {} }", "board:2: unknown key 'devcies'; did you mean 'devices'?"),
    ("{ name: 'x',\n imu: {} }", "board:2: 'imu' must be in 'devices': sensorhub check --convert prints the file"),
    ("{ name: 'x', devices: { gps: { port: 'p' } } }", "board:1: 'devices.gps.driver' is missing"),
    (
      "{ name: 'x', devices: { gps: { driver: 'nmea', port: '/dev/gnss0', speed: 9600 } } }",
      "board:1: 'devices.gps.speed' must be left out: /dev/gnss0 has no speed that the hub could set"
    ),
    (
      "{ name: 'x', devices: { gps: { driver: 'ublox', port: '/dev/gnss0',\n power: { sleep: 'stop' } } } }",
      "board:2: 'devices.gps.power' must be without 'sleep': /dev/gnss0 is switched without the hub"
    ),
    (
      "{ name: 'x',\n devices: { gps: { driver: 'nmea', port: 'p',\n power: { monitor: 'meter' } } } }",
      "board:3: 'devices.gps.power' must be without 'monitor', as the board has no supply monitor for it"
    ),
    (
      "{ name: 'x',\n devices: { gps: { driver: 'nmea', port: 'p',\n power: { monitor: 'mag' } }, "
        + "mag: { driver: 'lis3mdl', bus: 'b' }, m: { driver: 'ina219', bus: 'b' } } }",
      "board:3: 'devices.gps.power' must be with a 'monitor' that is a supply monitor: m"
    ),
    (
      "{ name: 'x', devices: { a: { driver: 'ina219', bus: 'b', power: { monitor: 'b' } },\n"
        + " b: { driver: 'ina219', bus: 'b', address: 0x41 } } }",
      "board:1: 'devices.a.power' must be without 'monitor': a supply monitor measures the power of other devices"
    ),
    (
      "{ name: 'x', devices: { m: { driver: 'ina219', bus: 'b', shuntOhms: 0 } } }",
      "board:1: 'devices.m.shuntOhms' must be a number from 0.0001 to 1000"
    ),
    (
      "{ name: 'x', devices: { a: { driver: 'ina219', bus: 'b' }, b: { driver: 'ina219', bus: 'b', address: 0x41 },\n"
        + " c: { driver: 'nmea', port: 'p', power: { switch: 'gpio', chip: 'c', line: 'l', monitor: 'a' } },\n"
        + " d: { driver: 'nmea', port: 'q', power: { switch: 'gpio', chip: 'c', line: 'l', monitor: 'b' } } } }",
      "board:3: 'devices.d.power' must be with the same 'monitor' as 'c', which is on the same switch"
    ),
    (
      "{ name: 'x',\n devices: { 'my gps': { driver: 'nmea' } } }",
      "board:2: 'devices.my gps' must be named with at most"
    ),
    ("{ nmae: 'x' }", "board:1: unknown key 'nmae'; did you mean 'name'?"),
    (
      "{ name: 'x',\n devices: { gps: { driver: 'nmea',\n prt: 1 } } }",
      "board:3: unknown key 'devices.gps.prt'; did you mean 'devices.gps.port'?"
    ),
    ("{ nmea: {} }", "board:1: 'name' is missing"),
    (
      "{ name: 'x',\n devices: { gps: { driver: 'nmea',\n prot: '/dev/ttyX' } } }",
      "board:3: unknown key 'devices.gps.prot'; did you mean 'devices.gps.port'?"
    ),
    (
      "{ name: 'x', devices: { gps: { driver: 'nmea', port: '/dev/x',\n\n power: { lingerSecond: 1 } } } }",
      "board:3: unknown key 'devices.gps.power.lingerSecond'; did you mean 'devices.gps.power.lingerSeconds'?"
    ),
    (
      "{ name: 'x', devices: { gps: { driver: 'nmea', port: 'p', power: { linger: 'learned', lingerSeconds: 1 } } } }",
      "board:1: 'devices.gps.power.lingerSeconds' must be left out: with this 'linger' the hub learns the time"
    ),
    (
      "{ name: 'x', devices: { gps: { driver: 'nmea', port: 'p', power: { whenShort: { everySeconds: 60 } } } } }",
      "board:1: 'devices.gps.power.milliwattHoursPerDay' is missing"
    ),
    (
      "{ name: 'x', devices: { gps: { driver: 'nmea', port: 'p', power: { milliwattHoursPerDay: 9, whenShort: [ {} ] "
        + "} } } }",
      "board:1: 'devices.gps.power.whenShort[0].everySeconds' is missing"
    ),
    (
      "{ name: 'x', devices: { imu: { driver: 'mpu-6050', bus: 'b', address: 0x68, power: { milliwattHoursPerDay: 9, "
        + "whenShort: { everySeconds: 9 } } } } }",
      "board:1: 'devices.imu.power.whenShort' must be left out"
    ),
    ("{ name: 'x', bananas: 1 }", "board:1: unknown key 'bananas'"),
    (
      "{ name: 'x', devices: { gps: { driver: 'nmea', port: 'p',\n lingerSeconds: 5 } } }",
      "board:2: unknown key 'devices.gps.lingerSeconds'; it belongs in 'devices.gps.power'"
    ),
    (
      "{ name: 'x', devices: { gps: { driver: 'nmea', port: 'p', power: { speed: 9600 } } } }",
      "board:1: unknown key 'devices.gps.power.speed'; it belongs in 'devices.gps'"
    ),
    (
      "{ name: 'x', devices: { gps: { driver: 'ublox', port: 'p' } },\n rateHz: 5 }",
      "board:2: unknown key 'rateHz'; it belongs in 'devices.NAME', in 'state'"
    ),
    (
      "{ name: 'x', devices: { gps: { driver: 'nmea', port: 'p', fusion: { devices: ['gps'] } } } }",
      "board:1: unknown key 'devices.gps.fusion'; it belongs at the top level"
    ),
    (
      "{ name: 'x', state: { tokenFile: '/t' } }",
      "board:1: unknown key 'state.tokenFile'; it belongs in 'http'"
    ),
    (
      "{ name: 'x', devices: { gps: { driver: 'nmea', port: '/dev/x', speed: 9601 } } }",
      "board:1: 'devices.gps.speed' must be one of 4800, 9600, "
    ),
    (
      "{ name: 'x', devices: { gps: { driver: 'nmea', port: '' } } }",
      "board:1: 'devices.gps.port' must be a text, not empty and without NUL"
    ),
    (
      "{ name: 'x', devices: { gps: { driver: 'nmea', port: 'a\\u0000b' } } }",
      "board:1: 'devices.gps.port' must be a text"
    ),
    (
      "{ name: 'x', devices: { gps: { driver: 'nmea', port: 'p', speed: 9600.9 } } }",
      "board:1: 'devices.gps.speed' must be a whole number from 4800 to 921600"
    ),
    (
      "{ name: 'x', devices: { imu: { driver: 'mpu-6050', bus: 'b', address: 104.9 } } }",
      "board:1: 'devices.imu.address' must be a whole number from 8 to 119"
    ),
    (
      "{ name: 'x', devices: { baro: { driver: 'bmp390', bus: 'b', address: 0x20 } } }",
      "board:1: 'devices.baro.address' must be 0x77 or 0x76, the addresses of this chip"
    ),
    ("{ name: 'x', state: { rateHz: 0 } }", "board:1: 'state.rateHz' must be a number from 0.01 to 1000"),
    (
      "{ name: 'x', devices: { imu: { driver: 'mpu', bus: 'b' } } }",
      "board:1: 'devices.imu.driver' must be 'nmea', 'auto', 'ublox', 'mediatek', 'airoha', 'quectel', "
        + "'casic', 'unicore' for a receiver, "
        + "'iio' for a device of a kernel driver, or a chip that 'sensorhub chips' lists"
    ),
    (
      "{ name: 'x', devices: { imu: { driver: 'lsm6dsx', bus: 'b' } } }",
      "board:1: 'devices.imu.driver' must be 'nmea', 'auto', 'ublox', 'mediatek', 'airoha', 'quectel', "
        + "'casic', 'unicore' for a receiver, "
        + "'iio' for a device of a kernel driver, or a chip that 'sensorhub chips' lists; "
        + "did you mean 'lsm6dsox'?"
    ),
    (
      "{ name: 'x', devices: { baro: { driver: 'bmp390', bus: 'b', mount: [[1,0,0],[0,1,0],[0,0,1]] } } }",
      "board:1: unknown key 'devices.baro.mount'"
    ),
    (
      "{ name: 'x', devices: { mag: { driver: 'lis3mdl', bus: 'b', rateHz: 500 } } }",
      "board:1: 'devices.mag.rateHz' must be a number from 0.625 to 80"
    ),
    (
      "{ name: 'x', devices: { gps: { driver: 'nmea', port: 'p' } }, fusion: { devices: ['gps', 'imu'] } }",
      "board:1: 'fusion.devices' must be a list of some of gps"
    ),
    (
      "{ name: 'x', devices: { a: { driver: 'bmp280', bus: 'b' }, b: { driver: 'bmp390', bus: 'b' } }, "
        + "fusion: { devices: ['a', 'b'] } }",
      "board:1: 'fusion.devices' must be a list with one barometer at most"
    ),
    (
      "{ name: 'x', devices: { imu: { driver: 'mpu-6050', bus: 'b', mount: [[1,0,0],[0,1,0],[0,0,-1]] } } }",
      "board:1: 'devices.imu.mount' must be a rotation"
    ),
    (
      "{ name: 'x', devices: { gps: { driver: 'nmea', port: 'p', power: { switch: 'gpio' } } } }",
      "board:1: 'devices.gps.power.chip' is missing"
    ),
  ]

  @Test(arguments: [
    // A barometer has no mounting, although the IMU next to it has one.
    (
      "{ name: 'x', devices: { baro: { driver: 'bmp390', bus: 'b', mount: [[1,0,0],[0,1,0],[0,0,1]] }, "
        + "imu: { driver: 'mpu-6050', bus: 'b' } } }", "board:1: unknown key 'devices.baro.mount'"
    ),
    // The file's own 'sleep' is an object.
    (
      "{ name: 'x', devices: { imu: { driver: 'mpu-6050', bus: 'b', sleep: 'off' } } }",
      "board:1: unknown key 'devices.imu.sleep'"
    ),
  ])
  func `an unknown key that belongs in no other object is reported without a place`(_ text: String, _ message: String) {
    do throws(BoardError) {
      _ = try read(text)
      Issue.record("taken for right")
    } catch {
      #expect("\(error)" == message)
    }
  }

  @Test(arguments: mistakes)
  func `a mistake is reported with its line, its key and the expected value`(_ text: String, _ message: String) {
    do throws(BoardError) {
      _ = try read(text)
      Issue.record("taken for right")
    } catch {
      #expect("\(error)".hasPrefix(message), "\(error)")
    }
  }

  @Test
  func `the hub fuses all receivers and IMUs and the first device of each other kind, unless the file lists others`()
    throws
  {
    let devices = """
      devices: { a: { driver: 'bmp390', bus: 'b' }, b: { driver: 'nmea', port: 'p' }, c: { driver: 'lis3mdl', bus: 'b' },
        d: { driver: 'bmp280', bus: 'b' }, e: { driver: 'nmea', port: 'q' }, f: { driver: 'bmi160', bus: 'b' },
        g: { driver: 'mpu-6050', bus: 'b' }, h: { driver: 'lis2mdl', bus: 'b' } }
      """
    #expect(try read("{ name: 'x', \(devices) }").fusedDevices == ["a", "b", "c", "e", "f", "g"])
    #expect(
      try read("{ name: 'x', \(devices), fusion: { devices: ['h', 'd', 'b'] } }").fusedDevices == ["b", "d", "h"])
  }

  @Test func `the error for a file that cannot be read says why`() {
    #expect(throws: BoardError.unreadable(file: "/nowhere", reason: "No such file or directory")) {
      try Board(file: "/nowhere")
    }
  }

  private func read(_ text: String) throws(BoardError) -> Board { try Board(json5: Array(text.utf8), file: "board") }
}
