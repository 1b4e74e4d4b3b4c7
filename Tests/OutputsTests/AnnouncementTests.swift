import Hub
import Testing

@testable import Outputs

/// The ports that are announced by mDNS.
struct AnnouncementTests {
  private func board(_ text: String) throws -> Board {
    try Board(json5: Array("{ name: 'boat', \(text) }".utf8), file: "board")
  }

  @Test func `each port that other machines may connect to is announced once, and no other port is`() throws {
    let open = "address: '0.0.0.0', allow: ['192.168.1.0/24']"
    let board = try board(
      "gpsd: {}, nmea: [{ \(open) }, { port: 10111 }, { udp: '192.168.1.255:10110' }], http: { address: '0.0.0.0', "
        + "tokenFile: '/etc/sensorhub/token' }, signalk: { \(open) }")
    let all = Announcement.all(of: board, version: "1")
    #expect(all.map(\.type) == ["_nmea-0183._tcp", "_http._tcp", "_signalk-tcp._tcp"])
    #expect(all.map(\.port) == [10110, 8080, 8375])
    #expect(all.last?.text.contains("\nself=vessels.urn:mrn:signalk:uuid:") == true)
    let own = try self.board("gpsd: {}, http: {}")
    #expect(Announcement.all(of: own, version: "1").isEmpty)
    let quiet = try self.board("announce: false")
    #expect(board.isAnnounced && !quiet.isAnnounced)
  }

  @Test func `a long name is cut between characters`() throws {
    var board = try board("gpsd: {}")
    #expect(AnnouncementOutput.name(of: board) == "SensorHub boat")
    board.name = String(repeating: "ü", count: 60)
    let name = AnnouncementOutput.name(of: board)
    #expect(name.utf8.count <= 63 && name.utf8.count > 60)
    #expect(name.hasPrefix("SensorHub ü") && name.hasSuffix("ü"))
  }
}
