import HardwareIO
import Testing

@testable import Hub

/// The settings for casters in board files.
struct CasterSettingsTests {
  private func caster(_ ntrip: String) throws -> CasterSettings? {
    try Board(
      json5: Array("{ name: 'x', devices: { gps: { driver: 'nmea', port: 'p',\n ntrip: { \(ntrip) } } } }".utf8),
      file: "board"
    ).receiver?.caster
  }

  @Test func `the settings of a caster are read`() throws {
    var expected = CasterSettings(host: "caster.example", port: 2101, mountPoint: "MOUNT")
    #expect(try caster("caster: 'ntrip://caster.example/MOUNT'") == expected)
    (expected.username, expected.port) = ("me@example.org", 2102)
    (expected.passwordFile, expected.version, expected.positionInterval) = ("/etc/p", 1, .seconds(10))
    #expect(
      try caster(
        "caster: 'ntrip://me@example.org@caster.example:2102/MOUNT', passwordFile: '/etc/p', gga: true, version: 1")
        == expected)
    #expect(try caster("caster: 'ntrip://[2001:db8::1]:2103/A', gga: 2.5")?.positionInterval == .milliseconds(2500))
    #expect(try caster("caster: 'ntrip://[2001:db8::1]:2103/A', gga: false")?.positionInterval == nil)
    expected = CasterSettings(host: "caster.example", port: 443, mountPoint: "MOUNT")
    (expected.isEncrypted, expected.caFile) = (true, "/etc/ca")
    #expect(try caster("caster: 'ntrips://caster.example/MOUNT', caFile: '/etc/ca'") == expected)
    #expect(expected.description == "ntrips://caster.example:443/MOUNT")
    #expect(try caster("caster: 'ntrips://me@caster.example:2102/MOUNT'")?.port == 2102)
    // The description does not contain the user's name.
    #expect(try caster("caster: 'ntrip://me@[2001:db8::1]/A'")?.description == "ntrip://[2001:db8::1]:2101/A")
  }

  @Test func `several casters are tried in their order, each with its own user`() throws {
    let settings = try #require(
      try caster("caster: ['ntrip://a/B', 'ntrip://me@c:2102/D'], passwordFile: '/etc/p', gga: 5, version: 1"))
    #expect(settings.inOrder.map(\.description) == ["ntrip://a:2101/B", "ntrip://c:2102/D"])
    #expect(settings.inOrder.map(\.username) == [nil, "me"])
    #expect(settings.inOrder.allSatisfy { $0.version == 1 && $0.positionInterval == .seconds(5) })
    #expect(settings.passwordFile == "/etc/p")
    let mixed = try #require(try caster("caster: ['ntrip://a/B', 'ntrips://c/D'], caFile: '/etc/ca'"))
    #expect(mixed.inOrder.map(\.isEncrypted) == [false, true] && mixed.inOrder.allSatisfy { $0.caFile == "/etc/ca" })
    #expect { try caster("caster: []") } throws: { "\($0)".contains("'devices.gps.ntrip.caster' must be an address") }
    #expect { try caster("caster: ['ntrip://a/B', 'b']") } throws: { "\($0)".contains("must be an address with") }
  }

  @Test func `a change of a receiver's corrections does not require another reader`() throws {
    let board = { (ntrip: String) in
      try Board(json5: Array("{ name: 'x', devices: { gps: { driver: 'nmea', port: 'p'\(ntrip) } } }".utf8), file: "b")
    }
    let plain = try #require(try board("").receiver)
    let other = try #require(try board(", ntrip: { caster: 'ntrip://a/B' }").receiver)
    #expect(plain.isRead(like: other) && plain != other)
  }

  @Test(
    arguments: [
      (
        "caster: 'ntrip://me:secret@a/B'",
        "board:2: 'devices.gps.ntrip.caster' must be without a password, which other users could read here: set "
          + "'passwordFile' to its file"
      ),
      (
        "caster: 'https://a/B'",
        "board:2: 'devices.gps.ntrip.caster' must be ntrip://… or, for a caster with TLS, ntrips://…"
      ),
      (
        "caster: 'ntrip://a/B', caFile: '/p'",
        "board:2: 'devices.gps.ntrip.caFile' must be left out, or 'caster' ntrips://…: only TLS has certificates"
      ),
      (
        "caster: 'ntrips://me:secret@a/B'",
        "board:2: 'devices.gps.ntrip.caster' must be without a password, which other users could read here: set "
          + "'passwordFile' to its file"
      ),
      (
        "caster: 'ntrip://a'",
        "board:2: 'devices.gps.ntrip.caster' must be an address with a mount point, such as "
          + "\"ntrip://user@caster.example:2101/MOUNT\""
      ),
      (
        "caster: 'ntrip://a/B C'",
        "board:2: 'devices.gps.ntrip.caster' must be an address with a mount point, such as "
          + "\"ntrip://user@caster.example:2101/MOUNT\""
      ),
      (
        "caster: 'ntrip://a/B', passwordFile: '/p'",
        "board:2: 'devices.gps.ntrip.passwordFile' must be left out, or 'caster' with a user: ntrip://user@…"
      ),
      (
        "caster: 'ntrip://a/B', gga: 0",
        "board:2: 'devices.gps.ntrip.gga' must be true, false, or a number of seconds from 1 to 3600"
      ),
      ("caster: 'ntrip://a/B', version: 3", "board:2: 'devices.gps.ntrip.version' must be a whole number from 1 to 2"),
      (
        "caster: 'ntrip://a/B', casters: 'x'",
        "board:2: unknown key 'devices.gps.ntrip.casters'; did you mean 'devices.gps.ntrip.caster'?"
      ),
      (
        "caster: 'ntrip://u@a/B', pasword_file: '/p'",
        "board:2: unknown key 'devices.gps.ntrip.pasword_file'; did you mean 'devices.gps.ntrip.passwordFile'?"
      ),
    ])
  func `an invalid caster is refused with the valid forms`(_ ntrip: String, _ message: String) {
    let error = #expect(throws: BoardError.self) { try caster(ntrip) }
    #expect(error?.description == message)
  }
}
