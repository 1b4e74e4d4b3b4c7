import Devices
import HardwareIO
import Publishing
import Testing

@testable import Hub

/// Sensors with a kernel driver in board files.
struct IIOBoardFileTests {
  private func read(_ devices: String) throws -> Board {
    try Board(json5: Array("{ name: 'x', devices: { \(devices) } }".utf8), file: "board")
  }

  @Test func `an IIO sensor may consist of one kernel device or of two`() throws {
    let board = try read(
      """
      imu: { driver: 'iio', kind: 'imu', names: ['lsm6dsox_accel', 'lsm6dsox_gyro'], address: 0x6a, rateHz: 104,
        mount: [[0,1,0],[1,0,0],[0,0,-1]], power: { currentMilliamperes: 0.6, lingerSeconds: 1 } },
      mag: { driver: 'iio', kind: 'magnetometer', name: 'lis3mdl' },
      air: { driver: 'iio', kind: 'barometer', name: 'bmp280', label: 'cabin', rateHz: 1 },
      """)
    let imu = try #require(board.imu)
    #expect(
      imu.chip
        == .iio([IIODeviceName("lsm6dsox_accel", address: 0x6A), IIODeviceName("lsm6dsox_gyro", address: 0x6A)]))
    #expect(imu.rateHz == 104 && imu.burstRateHz == 25)
    #expect(imu.mount.apply(SIMD3(1, 2, 3)) == SIMD3(2, 1, -3))
    #expect("\(imu.place)" == "0x6a on iio/lsm6dsox_accel" && imu.place.identifier == "iio-lsm6dsox_accel-6a")
    #expect(imu.power.timing.idleTimeout == .seconds(1))
    for device in board.devices {
      switch device {
      case .magnetometer(let mag): #expect(mag.chip == .iio(IIODeviceName("lis3mdl")) && mag.rateHz == 20)
      case .barometer(let air): #expect(air.chip == .iio(IIODeviceName("bmp280", label: "cabin")) && air.rateHz == 1)
      default: #expect(device.id == "imu")
      }
    }
    #expect(board.devices.count == 3)
  }

  static let mistakes: [(text: String, message: String)] = [
    ("d: { driver: 'iio', name: 'mpu6050' }", "board:1: 'devices.d.kind' is missing"),
    (
      "d: { driver: 'iio', kind: 'camera', name: 'ov' }",
      "board:1: 'devices.d.kind' must be one of 'imu', 'magnetometer', 'barometer'"
    ),
    ("d: { driver: 'iio', kind: 'imu' }", "board:1: 'devices.d.name' is missing"),
    ("d: { driver: 'iio', kind: 'imu', names: [] }", "board:1: 'devices.d.names' must be one or two of the names"),
    ("d: { driver: 'iio', kind: 'imu', names: ['a','b','c'] }", "board:1: 'devices.d.names' must be one or two of"),
    ("d: { driver: 'iio', kind: 'imu', names: ['a','../b'] }", "board:1: 'devices.d.names' must be one or two of"),
    (
      "d: { driver: 'iio', kind: 'barometer', names: ['a','b'] }", "board:1: 'devices.d.names' must be one name"
    ),
    (
      "d: { driver: 'iio', kind: 'barometer', name: 'a', bus: '/dev/i2c-1' }",
      "board:1: unknown key 'devices.d.bus'"
    ),
    (
      "d: { driver: 'iio', kind: 'imu', name: 'a',\n power: { switch: 'gpio', chip: 'c', line: '1' } }",
      "board:2: 'devices.d.power' must be without a switch"
    ),
  ]

  @Test(arguments: mistakes) func `mistakes are reported with their lines`(_ text: String, _ message: String) {
    #expect {
      try read(text)
    } throws: {
      "\($0)".hasPrefix(message)
    }
  }
}
