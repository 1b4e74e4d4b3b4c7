import Hub
import TestSupport
import Testing

@testable import Outputs

/// The ports of a hub, and the gpsd protocol on them, over reloads of the board file.
@Suite(.timeLimit(.minutes(10))) struct GPSDReloadTests {
  private let gpsd = SocketClient.freePort()
  private let nmea = SocketClient.freePort()

  private func hub() throws -> ServedHub {
    try ServedHub(board: HubProcess.simulatedBoard(gpsd: gpsd, nmea: nmea))
  }

  @Test func `devices are reported when they wake, and again after a reload`() async throws {
    let hub = try hub()
    let client = WireClient(port: gpsd)
    client.send("?DEVICES;")
    #expect(client.receives("\"class\":\"DEVICES\""))
    #expect(!client.text.contains("\"activated\""), "\(client.text)")
    client.watch()
    func activated(_ path: String) -> Bool {
      client.reports("DEVICE").contains { $0.path == path && $0.activated?.count == 24 }
    }
    #expect(client.reads { activated("simulated/gps") && activated("simulated/i2c") }, "\(client.text)")
    func times() -> [String: String] {
      Dictionary(
        client.reports("DEVICE").map { ($0.path ?? "", $0.activated ?? "off") },
        uniquingKeysWith: { $0 == $1 ? $0 : "\($0), \($1)" })
    }
    let count = client.reports("DEVICE").count
    client.send("?DEVICE={\"path\":\"simulated/gps\"};?DEVICE={\"path\":\"simulated/i2c\"};")
    #expect(client.reads { client.reports("DEVICE").count >= count + 2 })
    let before = times()
    client.forget()
    try await hub.reload(HubProcess.simulatedBoard(gpsd: gpsd, nmea: nmea, fused: true))
    #expect(client.reads { activated("simulated/gps") && activated("simulated/i2c") }, "\(client.text)")
    // The values have changed in the meantime, and so has their time.
    #expect(times() == before, "\(client.text)")
    await hub.end()
  }

  @Test func `a watch of a device ends when the device is removed, and keeps nothing awake after that`() async throws {
    let hub = try hub()
    let client = WireClient(port: gpsd)
    // Some programs write their objects this way.
    client.send("?WATCH={\n\"enable\":true,\n\"json\":true,\n\"device\":\"simulated/i2c\"\n}\n")
    #expect(client.reads { client.reports("ATT").count > 2 }, "\(client.text)")
    #expect(!client.text.contains("ERROR"))
    try await hub.reload(
      """
      { name: "test", gpsd: { port: \(gpsd) },
        devices: { gps: { driver: "nmea", port: "simulated/gps", power: { switch: "gpio", chip: "simulated", line: "gps-power", lingerSeconds: 0.2 } } } }
      """)
    #expect(client.receives("The board has no simulated/i2c any more"), "\(client.text)")
    // The watch does not move to another device, and the one that has left is off.
    #expect(hub.hasWokenNothing && hub.hub.devices.allSatisfy { $0.holders.isEmpty })
    #expect(hub.logs("imu: off ("), "\(hub.log.values)")
    client.forget()
    client.watch()
    #expect(client.reads { client.reports("TPV").contains { $0.mode == 3 } })
    await hub.end()
  }

  @Test func `a reload can move the ports, and disconnects their clients`() async throws {
    let hub = try hub()
    let moved = SocketClient.freePort()
    let (stays, goes) = (WireClient(port: nmea), WireClient(port: gpsd))
    goes.watch()
    #expect(stays.receives("$GNGGA,") && goes.receives("\"mode\":3"))
    try await hub.reload(HubProcess.simulatedBoard(gpsd: moved, nmea: nmea))
    #expect(hub.logs("gpsd protocol on 127.0.0.1:\(moved)"))
    // The same protocol moves to another port, and a client of the old one can connect there.
    let new = WireClient(port: moved)
    new.watch()
    #expect(new.receives("\"mode\":3"), "\(hub.log.values)")
    stays.forget()
    #expect(stays.receives("$GNGGA,"))
    try await hub.reload("{ name: \"none\", nmea: { port: \(nmea) } }")
    #expect(goes.waitsForEnd() && new.waitsForEnd())
    #expect(stays.isOpen)
    await hub.end()
  }

  @Test func `a port in use is reported, and everything else works`() async throws {
    let first = try hub()
    let other = SocketClient.freePort()
    let second = try ServedHub(board: HubProcess.simulatedBoard(gpsd: gpsd, nmea: other))
    #expect(second.logs("another program listens on 127.0.0.1:\(gpsd)"), "\(second.log.values)")
    #expect(second.hasWokenNothing)
    #expect(WireClient(port: other).receives("\r\n"))
    await second.end()
    await first.end()
  }
}
