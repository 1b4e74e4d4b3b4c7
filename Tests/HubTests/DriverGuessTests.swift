import Hub
import Testing

/// If a board file names a driver by the label of its module, the error suggests the driver's name.
@Suite struct DriverGuessTests {
  private func refusal(of driver: String) -> String {
    let text = "{ name: 'test', devices: { it: { driver: '\(driver)', bus: '/dev/i2c-1', port: '/dev/ttyS0' } } }"
    do throws(BoardError) {
      _ = try Board(json5: Array(text.utf8), file: "test")
      return ""
    } catch {
      return "\(error)"
    }
  }

  @Test(arguments: [
    ("neo-6m", "ublox"), ("NEO-M8N", "ublox"), ("u-blox", "ublox"), ("ublox-8", "ublox"), ("zed-f9p", "ublox"),
    ("l86", "mediatek"), ("lc86g", "airoha"), ("atgm336h", "casic"), ("gps", "nmea"), ("mpu6050", "mpu-6050"),
    ("MPU-6050", "mpu-6050"), ("nema", "nmea"), ("lg290p", "quectel"), ("um980", "unicore"),
    ("UM982", "unicore"),
  ])
  func `the driver is guessed from the name of the kernel module`(_ word: String, _ driver: String) {
    #expect(refusal(of: word).hasSuffix("; did you mean '\(driver)'?"), "\(refusal(of: word))")
  }

  @Test func `an unfamiliar module name gives no guess`() {
    #expect(!refusal(of: "thermometer-of-my-own").contains("did you mean"))
  }
}
