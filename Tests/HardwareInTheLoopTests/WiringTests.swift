import Hub
import Testing

/// The description of a real bench's wiring, which needs no bench.
struct WiringTests {
  private static let gps = "gps: { port: '/dev/ttyAMA0', speed: 9600, power: { chip: 'c', line: '17', sense: '27' } }"

  private func wiring(_ imuPower: String, gps: String = WiringTests.gps) throws(BoardError) -> Wiring {
    let text = "{ \(gps),\n imu: { bus: '/dev/i2c-1', // no address\n power: { chip: 'c', line: '22', \(imuPower) } } }"
    return try Wiring(json5: Array(text.utf8), file: "wiring")
  }

  @Test func `the example's keys are read, and each power line knows its place in the file`() throws {
    let wiring = try wiring("sense: '23'")
    #expect(wiring.gps.port == "/dev/ttyAMA0" && wiring.gps.speed == 9600 && wiring.gps.power.sense == "27")
    #expect(wiring.imu.bus == "/dev/i2c-1" && wiring.imu.address == nil && wiring.imu.power.line == "22")
    #expect(wiring.imu.power.place == "wiring:3: 'imu.power'")
  }

  @Test(arguments: [
    ("", WiringTests.gps, "wiring:3: 'imu.power.sense' is missing"),
    ("sens: '23'", WiringTests.gps, "wiring:3: unknown key 'imu.power.sens'; did you mean 'imu.power.sense'?"),
    ("sense: 23", WiringTests.gps, "wiring:3: 'imu.power.sense' must be a string"),
    ("sense: '23'", "name: 'x'", "wiring:1: 'gps' is missing"),
  ])
  func `a mistake is named with its file, its line and its key`(_ imuPower: String, _ gps: String, _ message: String) {
    do throws(BoardError) {
      _ = try wiring(imuPower, gps: gps)
      Issue.record("taken for right")
    } catch {
      #expect("\(error)" == message)
    }
  }
}
