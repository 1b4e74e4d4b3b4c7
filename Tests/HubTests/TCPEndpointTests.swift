import Hub
import Testing

/// The addresses where outputs listen, and the clients they accept.
struct TCPEndpointTests {
  @Test(arguments: [
    ("192.168.1.0/24", "192.168.1.77", true), ("192.168.1.0/24", "192.168.2.1", false),
    ("10.0.0.0/9", "10.127.255.255", true), ("10.0.0.0/9", "10.128.0.0", false), ("0.0.0.0/0", "8.8.8.8", true),
    ("10.1.2.3", "10.1.2.3", true), ("10.1.2.3", "10.1.2.4", false), ("fd00::/8", "fd12::1", true),
    ("fd00::/8", "fe80::1", false), ("fd00::/8", "10.0.0.1", false), ("10.0.0.0/8", "::ffff:10.1.1.1", true),
  ])
  func `a network contains the addresses with its prefix`(_ network: String, _ address: String, _ isIn: Bool) throws {
    let network = try #require(IPNetwork(network))
    #expect(network.contains(try #require(IPAddress(address))) == isIn)
  }

  @Test(arguments: [
    "", "localhost", "1.2.3", "1.2.3.4/33", "1.2.3.4/-1", "1.2.3.4/", "::1/129", "1.2.3.4/8/8", "1.2.3.4\u{0}5",
    "::1\u{0}home/8",
  ])
  func `an invalid network is refused`(_ text: String) { #expect(IPNetwork(text) == nil) }

  @Test func `a port is open only to this machine unless the board file states both an address and the clients`() throws
  {
    #expect(try board("gpsd: {}").gpsdEndpoint?.description == "127.0.0.1:2947")
    #expect(try board("nmea: { address: '::1' }").nmea.first?.endpoint?.description == "[::1]:10110")
    let open = try #require(try board("gpsd: { address: '0.0.0.0', port: 1, allow: ['192.168.1.0/24'] }").gpsdEndpoint)
    #expect(open.audience == "this machine, 192.168.1.0/24")
    #expect(open.admits(IPAddress("127.0.0.1")!) && open.admits(IPAddress("192.168.1.9")!))
    #expect(!open.admits(IPAddress("192.168.2.9")!))
    for mistake in [
      "gpsd: { address: '0.0.0.0' }", "gpsd: { address: 'home' }", "gpsd: { allow: ['home'] }", "nmea: { port: 0 }",
    ] {
      #expect(throws: BoardError.self) { try board(mistake) }
    }
  }

  private func board(_ text: String) throws(BoardError) -> Board {
    try Board(json5: Array("{ name: 'x', \(text) }".utf8), file: "board")
  }
}
