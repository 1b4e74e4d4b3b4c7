import HardwareIO
import Testing

@testable import Hub

struct MAVLinkPortTests {
  private func board(_ text: String) throws(BoardError) -> Board {
    try Board(json5: Array("{ name: 'test', \(text) }".utf8), file: "board")
  }

  @Test func `the key mavlink names an address or a port, and wakes no device unless it says so`() throws {
    #expect(try board("").mavlink == nil)
    let port = try #require(try board("mavlink: { to: 'udp://127.0.0.1:14550' }").mavlink)
    #expect("\(port.line)" == "udp://127.0.0.1:14550" && port.serialPort == nil)
    #expect(port.messages == [.gpsInput] && port.system == 1 && port.component == 191 && port.rateHz == 10)
    #expect(!port.keepsAwake && !port.takesSimulated && port.parts == .all)
    let other = try #require(
      try board(
        "mavlink: { port: '/dev/ttyS1', speed: 921600, messages: ['GPS_RAW_INT', 'ODOMETRY'], system: 7, "
          + "component: 197, rateHz: 30, simulated: true, keepsAwake: true, parts: ['attitude'] }"
      ).mavlink)
    #expect(other.line == .serial("/dev/ttyS1", .b921600) && other.messages == [.gpsRaw, .odometry])
    #expect(other.system == 7 && other.component == 197 && other.rateHz == 30)
    #expect(other.takesSimulated && other.keepsAwake && other.parts == [.attitude])
    #expect(try board("mavlink: { to: 'udp://[::1]:14550' }").mavlink?.address?.isLoopback == true)
  }

  @Test(arguments: [
    ("mavlink: {}", "'mavlink.to'"),
    ("mavlink: { to: 'udp://127.0.0.1:1', port: '/dev/ttyS1' }", "'mavlink.to'"),
    ("mavlink: { to: '127.0.0.1:14550' }", "'mavlink.to' must be an address and a port"),
    ("mavlink: { to: 'udp://drone.local:14550' }", "'mavlink.to' must be an address and a port"),
    ("mavlink: { to: 'udp://127.0.0.1' }", "'mavlink.to' must be an address and a port"),
    ("mavlink: { to: 'udp://127.0.0.1:1', speed: 57600 }", "'mavlink.speed' must be left out without 'port'"),
    ("mavlink: { port: 'ttyS1' }", "'mavlink.port' must be a tty"),
    ("mavlink: { port: '/dev/ttyS1', speed: 57601 }", "'mavlink.speed' must be one of"),
    ("mavlink: { to: 'udp://127.0.0.1:1', messages: ['GPS'] }", "'mavlink.messages'"),
    (
      "mavlink: { to: 'udp://127.0.0.1:1', messages: ['ODOMETRY', 'VISION_POSITION_ESTIMATE'] }",
      "'mavlink.messages' must be without ODOMETRY"
    ),
    ("mavlink: { to: 'udp://127.0.0.1:1', system: 0 }", "'mavlink.system' must be a whole number from 1 to 255"),
    ("mavlink: { to: 'udp://127.0.0.1:1', parts: ['heading'] }", "'mavlink.parts' must be left out"),
    ("mavlink: { to: 'udp://127.0.0.1:1', signing: true }", "unknown key 'mavlink.signing'"),
    (
      "devices: { gps: { driver: 'nmea', port: '/dev/ttyS1' } }, mavlink: { port: '/dev/ttyS1' }",
      "'mavlink.port' must be another port than that of 'gps'"
    ),
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
