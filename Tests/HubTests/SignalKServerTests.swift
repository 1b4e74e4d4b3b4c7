import Hub
import Testing

/// A board file's Signal K servers.
struct SignalKServerTests {
  private func board(_ text: String) throws(BoardError) -> Board {
    try Board(json5: Array("{ name: 'x', \(text) }".utf8), file: "board")
  }

  @Test func `an object with a server opens no port, and wakes no device unless it says so`() throws {
    let alone = try board("signalk: { server: 'ws://boat.local' }")
    let server = try #require(alone.signalKServers.first)
    #expect(alone.signalK == nil && alone.signalKServers.count == 1)
    #expect(server.address == ServerAddress(host: "boat.local", port: 3000) && server.key == "signalk")
    #expect(!server.keepsAwake && server.parts == .all && server.tokenFile == nil && !server.takesSimulated)

    let both = try board(
      """
      signalk: [{ port: 8376 }, { server: 'wss://[2001:db8::1]:443/signalk/v1/stream', tokenFile: '/etc/sensorhub/token',
        caFile: '/etc/sensorhub/ca.pem', keepsAwake: true, parts: ['heading'] }, { server: 'tcp://192.0.2.7', simulated: true }]
      """)
    #expect(both.signalK?.endpoint.port == 8376)
    #expect(both.signalKServers.map { "\($0)" } == ["wss://[2001:db8::1]:443", "tcp://192.0.2.7:8375"])
    #expect(both.signalKServers.map(\.takesSimulated) == [false, true])
    let encrypted = both.signalKServers[0]
    #expect(encrypted.address.isEncrypted && encrypted.address.caFile == "/etc/sensorhub/ca.pem")
    #expect(encrypted.keepsAwake && encrypted.parts == [.heading] && encrypted.key == "signalk[1]")
  }

  @Test(arguments: [
    ("signalk: { server: 'boat.local' }", "'signalk.server' must be the address of a server"),
    ("signalk: { server: 'http://boat.local' }", "'signalk.server' must be the address of a server"),
    ("signalk: { server: 'ws://boat.local/other' }", "'signalk.server' must be the address of a server"),
    ("signalk: { server: 'ws://me@boat.local' }", "'signalk.server' must be the address of a server"),
    ("signalk: { server: 'ws://boat.local', port: 1 }", "'signalk.port' must be left out with 'server'"),
    ("signalk: { server: 'ws://boat.local', mmsi: '244123456' }", "'signalk.mmsi' must be left out with 'server'"),
    ("signalk: { server: 'tcp://boat.local', tokenFile: '/t' }", "'signalk.tokenFile' must be left out, or 'server'"),
    ("signalk: { server: 'ws://boat.local', caFile: '/c' }", "'signalk.caFile' must be left out, or 'server'"),
    ("signalk: { server: 'ws://b', parts: ['heading'] }", "'signalk.parts' must be left out without 'keepsAwake'"),
    ("signalk: { simulated: true }", "'signalk.simulated' must be left out without 'server'"),
    ("signalk: { keepsAwake: true }", "'signalk.keepsAwake' must be left out without 'server'"),
    ("signalk: [{}, {}]", "'signalk[1]' must be an object with 'server'"),
    ("signalk: { server: 'ws://b', rateHz: 1 }", "unknown key 'signalk.rateHz'"),
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
