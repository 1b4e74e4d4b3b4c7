import Hub
import Testing

/// The key `bridge` in a board file.
struct BridgePortTests {
  private func board(_ devices: String, _ bridge: String) throws(BoardError) -> Board {
    try Board(json5: Array("{ name: 'x', devices: { \(devices) }, bridge: \(bridge) }".utf8), file: "board")
  }

  private static let one = "gps: { driver: 'nmea', port: '/dev/ttyAMA0' }"
  private static let two = one + ", rtk: { driver: 'ublox', port: '/dev/ttyACM0' }"
  private static let phone = "phone: { driver: 'nmea', port: 'gpsd://phone.local' }"

  @Test func `a board with one receiver need not name it`() throws {
    let bridge = try #require(try board(Self.one, "{}").bridge)
    #expect(bridge.device == "gps" && bridge.endpoint.description == "127.0.0.1:2001" && bridge.endpoint.clients == 8)
    #expect(try board(Self.two, "{ device: 'rtk', port: 5 }").bridge?.device == "rtk")
    #expect(try Board(json5: Array("{ name: 'x', devices: { \(Self.one) } }".utf8), file: "board").bridge == nil)
  }

  @Test(arguments: [
    (two, "{}", "'bridge.device' must be the receiver of the bridge, as the board has several: \"gps\" or \"rtk\""),
    (one, "{ device: 'imu' }", "'bridge.device' must be a receiver that bytes can be sent to: \"gps\""),
    (phone, "{}", "'bridge' must be left out: the board has no receiver that bytes can be sent to"),
    (
      one + ", " + phone, "{ device: 'phone' }", "'bridge.device' must be a receiver that bytes can be sent to: \"gps\""
    ),
    (one, "{ address: '0.0.0.0' }", "'bridge.allow' must be the networks that may connect"),
    (one, "{ clients: 17 }", "'bridge.clients' must be at most 16"),
    (one, "{ divice: 'gps' }", "unknown key 'bridge.divice'"),
  ])
  func `an invalid setting is reported`(_ devices: String, _ bridge: String, _ message: String) {
    do throws(BoardError) {
      _ = try board(devices, bridge)
      Issue.record("taken for right")
    } catch {
      #expect("\(error)".contains(message), "\(error)")
    }
  }
}
