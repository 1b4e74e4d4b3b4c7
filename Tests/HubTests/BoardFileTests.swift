import Devices
import HardwareIO
import Publishing
import TestSupport
import Testing

@testable import Hub

struct BoardFileTests {
  @Test(arguments: ["raspberry-pi-5", "raspberry-pi-4", "raspberry-pi-zero-2-w", "simulated"])
  func `the boards that come with the hub are right`(_ name: String) throws {
    let board = try Board(file: SharedData.packageFolder + "/boards/\(name).json5")
    #expect(board.gps != nil)
    #expect(board.imu != nil)
    // What is wired to a line nobody knows but its owner.
    if name != "simulated" { #expect(board.gps?.power.switch == Board.Power.Switch.none) }
  }

  @Test func `everything that a board file says is understood`() throws {
    let board = try read(
      """
      {
        name: 'test', // a comment
        gps: { port: "/dev/ttyX", speed: 38400, leverArmMetres: [1, -2.5, +.5],
          power: { switch: "gpio", chip: "chip", line: "7", activeLow: true, settleMilliseconds: 20,
            currentMilliamperes: 30, supplyVolts: 5, lingerSeconds: 1.5, minimumOnSeconds: 2, minimumOffSeconds: 3, }, },
        imu: { chip: "mpu-9250", bus: "/dev/i2c-7", address: 0x69, rateHz: 1000, burstRateHz: 40,
          gyroscopeRangeDegreesPerSecond: 2000, accelerometerRangeG: 16, mount: [[0,1,0],[1,0,0],[0,0,-1]], },
        state: { rateHz: 4 }, journal: { state: true },
      }
      """)
    #expect(board.gps?.speed == .b38400)
    #expect(board.gps?.leverArmMetres == SIMD3(1, -2.5, 0.5))
    #expect(board.gps?.power.switch == .gpio(GPIOLineName(chip: "chip", line: "7"), activeLow: true))
    #expect(board.gps?.power.timing.linger == .milliseconds(1500))
    #expect(board.gps?.power.milliwatts == 150)
    #expect(board.imu?.address == 0x69)
    #expect(board.imu?.configuration.actualRateHz == 1000)
    #expect(board.imu?.mount.apply(SIMD3(1, 2, 3)) == SIMD3(2, 1, -3))
    #expect(board.stateRateHz == 4)
    #expect(board.journalsState)
  }

  static let mistakes: [(text: String, message: String)] = [
    ("{", "board:1: the file ends where a key should be"),
    ("{ name: 'x'\n gps: {} }", "board:2: 'g' where ',' or '}' should follow the value of 'name'"),
    ("{ name: x }", "board:1: 'x' is no value; a string needs quotes"),
    ("{ name: 'x', name: 'y' }", "board:1: the key 'name' stands twice"),
    ("/* never", "board:1: a comment that never ends"),
    ("[1]", "board:1: the file must be one object: { … }"),
    ("{}", "board:1: 'name' is missing"),
    ("{ name: 5 }", "board:1: 'name' must be a string"),
    ("\u{FEFF}{ name: 5 }", "board:1: 'name' must be a string"),
    ("{ name: 'x', gps: {} }", "board:1: 'gps.port' is missing"),
    ("{ name: 'x',\n gsp: {} }", "board:2: unknown key 'gsp'; did you mean 'gps'?"),
    ("{ nmae: 'x' }", "board:1: unknown key 'nmae'; did you mean 'name'?"),
    ("{ name: 'x',\n gps: {\n prt: 1 } }", "board:3: unknown key 'gps.prt'; did you mean 'gps.port'?"),
    ("{ nmea: {} }", "board:1: 'name' is missing"),
    ("{ name: 'x',\n gps: {\n prot: '/dev/ttyX' } }", "board:3: unknown key 'gps.prot'; did you mean 'gps.port'?"),
    (
      "{ name: 'x', gps: { port: '/dev/x',\n\n power: { lingerSecond: 1 } } }",
      "board:3: unknown key 'gps.power.lingerSecond'; did you mean 'gps.power.lingerSeconds'?"
    ),
    ("{ name: 'x', bananas: 1 }", "board:1: unknown key 'bananas'"),
    ("{ name: 'x', gps: { port: '/dev/x', speed: 9601 } }", "board:1: 'gps.speed' must be one of 4800, 9600, "),
    ("{ name: 'x', gps: { port: '' } }", "board:1: 'gps.port' must be a text, not empty and without NUL"),
    ("{ name: 'x', gps: { port: 'a\\u0000b' } }", "board:1: 'gps.port' must be a text"),
    (
      "{ name: 'x', gps: { port: 'p', speed: 9600.9 } }",
      "board:1: 'gps.speed' must be a whole number from 4800 to 921600"
    ),
    (
      "{ name: 'x', imu: { chip: 'mpu-6050', bus: 'b', address: 104.9 } }",
      "board:1: 'imu.address' must be a whole number from 8 to 119"
    ),
    ("{ name: 'x', state: { rateHz: 0 } }", "board:1: 'state.rateHz' must be a number from 0.01 to 1000"),
    (
      "{ name: 'x', imu: { chip: 'mpu', bus: 'b' } }",
      "board:1: 'imu.chip' must be one of 'mpu-6050', 'mpu-6500', 'mpu-9250'"
    ),
    (
      "{ name: 'x', imu: { chip: 'mpu-6050', bus: 'b', mount: [[1,0,0],[0,1,0],[0,0,-1]] } }",
      "board:1: 'imu.mount' must be a rotation"
    ),
    ("{ name: 'x', gps: { port: 'p', power: { switch: 'gpio' } } }", "board:1: 'gps.power.chip' is missing"),
  ]

  @Test(arguments: mistakes)
  func `a mistake is named with its line, its key and what was expected`(_ text: String, _ message: String) {
    do throws(BoardError) {
      _ = try read(text)
      Issue.record("taken for right")
    } catch {
      #expect("\(error)".hasPrefix(message), "\(error)")
    }
  }

  @Test func `a file that cannot be read says why`() {
    #expect(throws: BoardError.unreadable(file: "/nowhere", reason: "No such file or directory")) {
      try Board(file: "/nowhere")
    }
  }

  private func read(_ text: String) throws(BoardError) -> Board { try Board(json5: Array(text.utf8), file: "board") }
}
