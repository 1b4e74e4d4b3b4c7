import Hub
import Testing

/// A board file's CAN interface.
struct NMEA2000PortTests {
  private func board(_ text: String) throws(BoardError) -> Board {
    try Board(json5: Array("{ name: 'x', \(text) }".utf8), file: "board")
  }

  @Test func `the key nmea2000 has an interface, and wakes no device unless it says so`() throws {
    #expect(try board("").nmea2000 == nil)
    let port = try #require(try board("nmea2000: { interface: 'can0' }").nmea2000)
    #expect(port.interface == "can0" && port.address == 60 && !port.keepsAwake && port.parts == .all)
    let other = try #require(
      try board("nmea2000: { interface: 'vcan0', address: 7, keepsAwake: true, parts: ['heading'] }").nmea2000)
    #expect(other.address == 7 && other.keepsAwake && other.parts == [.heading] && other.isVirtual)
  }

  @Test(arguments: [
    ("nmea2000: {}", "nmea2000.interface"),
    ("nmea2000: { interface: '../can0' }", "'nmea2000.interface' must be the name of a CAN interface"),
    ("nmea2000: { interface: 'a-name-of-16-let' }", "'nmea2000.interface' must be the name of a CAN interface"),
    ("nmea2000: { interface: 'can0', address: 252 }", "'nmea2000.address' must be a whole number from 0 to 251"),
    ("nmea2000: { interface: 'can0', parts: ['heading'] }", "'nmea2000.parts' must be left out without 'keepsAwake'"),
    ("nmea2000: { interface: 'can0', bitrate: 1 }", "unknown key 'nmea2000.bitrate'"),
  ])
  func `an invalid setting is reported`(_ text: String, _ message: String) {
    do throws(BoardError) {
      _ = try board(text)
      Issue.record("the board file was accepted")
    } catch {
      #expect("\(error)".contains(message), "\(error)")
    }
  }
}
