import Hub
import Testing

/// Outputs that listen at several addresses.
struct AddressesTests {
  private func board(_ text: String) throws(BoardError) -> Board {
    try Board(json5: Array("{ name: 'x', \(text) }".utf8), file: "board")
  }

  @Test func `the address of an output is a single address or a list`() throws {
    #expect(try board("gpsd: {}").gpsdEndpoint?.description == "127.0.0.1:2947")
    #expect(try board("gpsd: { address: ['127.0.0.1'] }").gpsdEndpoint?.description == "127.0.0.1:2947")
    let home = try board(
      "nmea: { address: ['127.0.0.1', '::1', '192.168.1.4', '127.0.0.1'], allow: ['192.168.1.0/24'] }")
    #expect(home.nmea.first?.endpoint?.description == "127.0.0.1:10110, [::1]:10110, 192.168.1.4:10110")
    #expect(home.nmea.first?.endpoint?.audience == "this machine, 192.168.1.0/24")
    let web = try board("http: { address: ['127.0.0.1', '::1'] }")
    #expect(web.http?.address == "http://127.0.0.1:8080, http://[::1]:8080")
    #expect(web.http?.audience == "this machine")
    // The IPv6 wildcard also accepts IPv4. Two sockets could not share the port.
    let everywhere = try board("gpsd: { address: ['0.0.0.0', '::'], allow: ['10.0.0.0/8'] }")
    #expect(everywhere.gpsdEndpoint?.description == "[::]:2947")
    let covered = try board("gpsd: { address: ['0.0.0.0', '127.0.0.1', '::1'], allow: ['10.0.0.0/8'] }")
    #expect(covered.gpsdEndpoint?.description == "0.0.0.0:2947, [::1]:2947")
    let all = try board("http: { address: ['127.0.0.1', '::', '::1'] }")
    #expect(all.http?.endpoint.description == "[::]:8080")
  }

  @Test(arguments: [
    ("gpsd: { address: ['127.0.0.1', '192.168.1.4'] }", "192.168.1.4 is open to other machines"),
    ("gpsd: { address: [] }", "'gpsd.address' must be at least one address"),
    ("nmea: { address: ['::1', 'home'] }", "'nmea.address' must be IP addresses of this machine"),
    ("http: { address: 5 }", "'http.address' must be a string or a list of strings"),
    ("gpsd: { clients: 0 }", "'gpsd.clients' must be a whole number from 1 to 10000"),
  ])
  func `a wrong address is reported`(_ text: String, _ message: String) {
    do throws(BoardError) {
      _ = try board(text)
      Issue.record("taken for right")
    } catch {
      #expect("\(error)".contains(message), "\(error)")
    }
  }

  @Test func `a port counts as open to others if one of its addresses can be reached from other machines`() throws {
    #expect(try board("http: { address: ['127.0.0.1', '10.0.0.1'] }").http?.endpoint.isLoopback == false)
    #expect(try board("http: { address: ['127.0.0.1', '::1'] }").http?.endpoint.isLoopback == true)
  }
}
