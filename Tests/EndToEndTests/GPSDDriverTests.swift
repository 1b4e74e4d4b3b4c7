import FoundationEssentials
import TestSupport
import Testing

/// The driver name that a gpsd client gets for a receiver: gpsd's own name for that kind of receiver.
@Suite(.serialized, .timeLimit(.minutes(10))) struct GPSDDriverTests {
  private struct Device: Decodable, Equatable {
    var `class`: String
    var path, driver, subtype, subtype1: String?
    var native: Int?
  }

  private let gpsd = SocketClient.freePort()

  /// Returns the last report to the client about a device.
  private func device(_ path: String, _ client: SocketClient) -> Device? {
    client.text.split(separator: "\r\n").compactMap {
      try? JSONDecoder().decode(Device.self, from: Data($0.utf8))
    }.last { $0.class == "DEVICE" && $0.path == path }
  }

  /// Returns the report pushed to a watching client, once it is as expected.
  private func isTold(_ path: String, _ client: SocketClient, _ isExpected: (Device) -> Bool) -> Bool {
    eventually { device(path, client).map(isExpected) == true }
  }

  @Test func `a receiver that answers has gpsd's name for its type, not the board file's`() {
    func receiver(_ id: String, _ name: String, _ driver: String, _ more: String = "") -> String {
      "\(id): { driver: \"\(driver)\", port: \"simulated/\(name)\", \(more) power: { lingerSeconds: 0.2 } }"
    }
    let devices = [
      receiver("a", "ublox-8", "auto"), receiver("b", "ublox-9", "ublox", "messages: \"ubx\","),
      receiver("c", "mediatek", "mediatek"), receiver("d", "casic", "auto"), receiver("e", "airoha", "airoha"),
      // The author of this file was mistaken about the receiver.
      receiver("f", "ublox-7", "casic"),
    ]
    let hub = HubProcess(
      board: "{ name: \"test\", devices: { \(devices.joined(separator: ",\n")) }, gpsd: { port: \(gpsd) } }")
    let client = SocketClient(port: gpsd)
    client.send("?WATCH={\"enable\":true,\"json\":true};")
    #expect(
      isTold("simulated/ublox-8", client) {
        $0.driver == "u-blox" && $0.subtype?.hasPrefix("SW ") == true && $0.subtype?.contains(",HW 00080000") == true
          && $0.subtype1?.contains("PROTVER=") == true && $0.native == 0
      }, "\(client.text)")
    #expect(isTold("simulated/ublox-9", client) { $0.driver == "u-blox" && $0.native == 1 }, "\(client.text)")
    #expect(
      isTold("simulated/mediatek", client) {
        $0.driver == "MTK-3301" && $0.subtype?.isEmpty == false && $0.native == 0
      }, "\(client.text)")
    #expect(
      isTold("simulated/casic", client) { $0.driver == "CASIC" && $0.subtype?.hasPrefix("SW URANUS5") == true },
      "\(client.text)")
    // gpsd identifies it only by its sentences.
    #expect(
      isTold("simulated/airoha", client) { $0.driver == "NMEA0183" && $0.subtype?.isEmpty == false },
      "\(client.text)")
    #expect(isTold("simulated/ublox-7", client) { $0.driver == "NMEA0183" && $0.subtype == nil }, "\(client.text)")
    // A request gets the same answer as a watch.
    let other = SocketClient(port: gpsd)
    other.send("?DEVICE={\"path\":\"simulated/mediatek\"};")
    #expect(isTold("simulated/mediatek", other) { $0.driver == "MTK-3301" })
    #expect(hub.stop() == 0)
  }

  @Test func `a receiver that gets no commands is identified by its messages, even while it sleeps`() {
    let receiver = PseudoTerminal()
    let hub = HubProcess(
      board: """
        { name: "test", devices: { gps: { driver: "nmea", port: "\(receiver.path)", power: { lingerSeconds: 0 } } },
          gpsd: { port: \(gpsd) } }
        """)
    let client = SocketClient(port: gpsd)
    client.send("?WATCH={\"enable\":true,\"json\":true};")
    #expect(isTold(receiver.path, client) { $0.driver == "NMEA0183" && $0.native == 0 })
    #expect(hub.shows("gps", "acquiring"))
    var second = 0
    #expect(
      eventually {
        second = (second + 1) % 60
        receiver.write(
          MadeMessage.navPVT(
            timeOfWeekMilliseconds: UInt32(1000 * second), latitudeDegrees: 52, longitudeDegrees: 13,
            second: UInt8(second)))
        return device(receiver.path, client)?.driver == "u-blox"
      }, "\(client.text)")
    #expect(device(receiver.path, client)?.native == 1)
    client.leave()
    #expect(hub.comesToRest())
    let other = SocketClient(port: gpsd)
    other.send("?DEVICE;")
    #expect(isTold(receiver.path, other) { $0.driver == "u-blox" && $0.subtype == nil })
    #expect(hub.stop() == 0)
  }
}
