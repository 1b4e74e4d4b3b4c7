import Hub
import Testing

/// Old board files with one receiver and one inertial sensor, converted to the present form.
struct OldBoardFileTests {
  private func converted(_ text: String) throws -> String {
    String(decoding: try OldBoardFile.converted(json5: Array(text.utf8), file: "board"), as: UTF8.self)
  }

  @Test func `converting an old board file keeps its comments and other keys`() throws {
    let old = """
      // A board.
      {
        name: "x",
        gps: { // the receiver
          port: "/dev/ttyX", // its tty
          power: { switch: "none" },
        },
        // the sensor
        imu: {
          chip: "mpu-9250",
          bus: "/dev/i2c-1",
        },
        state: { rateHz: 5 },
      }

      """
    let new = """
      // A board.
      {
        name: "x",
        devices: {
          gps: { driver: "nmea", // the receiver
            port: "/dev/ttyX", // its tty
            power: { switch: "none" },
          },
          imu: {
            driver: "mpu-9250",
            bus: "/dev/i2c-1",
          },
        },
        // the sensor
        state: { rateHz: 5 },
      }

      """
    #expect(try converted(old) == new)
    #expect(try converted(new) == new)
  }

  @Test(arguments: [
    "{ name: 'x', imu: { 'chip': 'mpu-6050', bus: 'b' }, gpsd: {}, gps: { port: 'p' } }",
    "{name:'x',imu:{chip:'mpu-6050',bus:'b'},gps:{port:'p'}}",
    "{ name: 'x', gps: { port: 'p' } , imu: { chip: 'mpu-6050', bus: 'b' } , motion: 'free' }",
    "{ name: 'x', gps: /* { */ { port: 'p' }, imu: { bus: 'b', 'chip' /* : */ : 'mpu-6050' } /* , */, motion: 'free' }",
    "{ name: 'x'\n, gps: { port: 'p' }\n, imu: { chip: 'mpu-6050', bus: 'b' }\n, motion: 'free' }",
    "{ gps: { port: 'p' },\n imu: {\n  bus: 'b',\n  chip: 'mpu-6050' },\n name: 'x' }",
  ])
  func `an old board file converts to the same board however it is written`(_ old: String) throws {
    let board = try Board(json5: Array(try converted(old).utf8), file: "board")
    #expect(Set(board.devices.map(\.id)) == ["gps", "imu"])
    #expect(board.receiver?.port == "p" && board.imu?.place.bus == "b")
  }

  @Test func `a file with both the old and the new form is not converted`() {
    #expect(throws: BoardError.self) { try converted("{ name: 'x', devices: {}, gps: { port: 'p' } }") }
  }
}
