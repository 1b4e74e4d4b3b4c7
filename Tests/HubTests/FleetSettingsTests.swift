import Testing

@testable import Hub

/// A board file's settings for its broker.
struct FleetSettingsTests {
  private func fleet(_ text: String) throws(BoardError) -> FleetSettings? {
    try Board(json5: Array("{ name: 'x', mqtt: { \(text) } }".utf8), file: "board").fleet
  }

  @Test(arguments: [
    ("mqtt://broker.example", "mqtt://broker.example:1883"), ("mqtts://broker.example", "mqtts://broker.example:8883"),
    ("mqtt://192.168.1.5:2000", "mqtt://192.168.1.5:2000"), ("mqtts://[2001:db8::1]", "mqtts://[2001:db8::1]:8883"),
    ("mqtt://[::1]:2000", "mqtt://[::1]:2000"),
  ])
  func `a broker has a host, and its own port or the default one`(_ text: String, _ address: String) throws {
    #expect(try fleet("broker: '\(text)'")?.broker.description == address)
  }

  @Test func `missing settings have default values`() throws {
    let settings = try #require(try fleet("broker: 'mqtt://localhost'"))
    var usual = FleetSettings(broker: BrokerAddress(host: "localhost", isEncrypted: false))
    usual.isOfBoardFile = true
    #expect(settings == usual)
    #expect(
      settings.topic == "sensorhub" && settings.hub == nil && !settings.homeAssistant && !settings.subscribersWake)
    #expect(try Board(json5: Array("{ name: 'x' }".utf8), file: "board").fleet == nil)
  }

  @Test func `OwnTracks gets fixes at its interval, or without one only the fixes that others request`() throws {
    let passive = try #require(try fleet("broker: 'mqtt://b', ownTracks: {}")?.ownTracks)
    #expect(passive == OwnTracksSettings() && !passive.request.asksForFixes)
    let keys = "topic: 'owntracks/ada/boat', trackerId: 'AB', every: 60, accuracy: 10"
    let text = "broker: 'mqtt://b', ownTracks: { \(keys) }"
    let active = try #require(try fleet(text)?.ownTracks)
    #expect(active.topic == "owntracks/ada/boat" && active.trackerID == "AB")
    #expect(active.request.every == .seconds(60) && active.request.accuracyMetres == 10)
  }

  @Test(arguments: [
    ("", "'mqtt.broker' is missing"),
    ("broker: 'broker.example'", "'mqtt.broker' must be an address"),
    ("broker: 'http://broker.example'", "'mqtt.broker' must be an address"),
    ("broker: 'mqtt://'", "'mqtt.broker' must be an address"),
    ("broker: 'mqtt://broker:0'", "'mqtt.broker' must be an address"),
    ("broker: 'mqtt://broker:70000'", "'mqtt.broker' must be an address"),
    ("broker: 'mqtt://[10.0.0.1]'", "'mqtt.broker' must be an address"),
    ("broker: 'mqtt://broker/boat'", "'mqtt.broker' must be an address"),
    ("broker: 'mqtt://b', hub: 'boat/7'", "'mqtt.hub' must be at most 64 letters"),
    ("broker: 'mqtt://b', hub: '+'", "'mqtt.hub' must be at most 64 letters"),
    ("broker: 'mqtt://b', hub: ''", "'mqtt.hub' must be at most 64 letters"),
    ("broker: 'mqtt://b', topic: 'a/#'", "'mqtt.topic' must be names"),
    ("broker: 'mqtt://b', topic: '/a'", "'mqtt.topic' must be names"),
    ("broker: 'mqtts://b', passwordFile: '/p'", "'mqtt.username' is missing"),
    ("broker: 'mqtts://b', certificateFile: '/c'", "'mqtt.keyFile' is missing"),
    ("broker: 'mqtts://b', keyFile: '/k'", "'mqtt.certificateFile' is missing"),
    ("broker: 'mqtt://b', caFile: '/ca'", "'mqtt.caFile' must be left out"),
    ("broker: 'mqtt://b', homeassistant: true", "did you mean 'mqtt.homeAssistant'?"),
    ("broker: 'mqtt://b', ownTracks: { topic: 'boat' }", "'mqtt.ownTracks.topic' must be three names"),
    ("broker: 'mqtt://b', ownTracks: { topic: 'a/b/#' }", "'mqtt.ownTracks.topic' must be three names"),
    ("broker: 'mqtt://b', ownTracks: { trackerId: 'boat' }", "'mqtt.ownTracks.trackerId' must be one or two"),
    ("broker: 'mqtt://b', ownTracks: { accuracy: 5 }", "it needs 'every' or 'maxAge'"),
    ("broker: 'mqtt://b', ownTracks: { every: 5, error: 5 }", "cannot be combined with 'error'"),
    ("broker: 'mqtt://b', ownTracks: { evry: 5 }", "did you mean 'mqtt.ownTracks.every'?"),
    ("broker: 'mqtts://b', user: 'u', passwrdFile: '/p'", "did you mean 'mqtt.passwordFile'?"),
  ])
  func `invalid settings are refused`(_ text: String, _ reason: String) {
    #expect { try fleet(text) } throws: { "\($0)".contains(reason) }
  }
}
