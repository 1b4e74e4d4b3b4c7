import Guarding
import HardwareIO
import Hub
import MonotonicTime
import TestSupport
import Testing

@testable import Outputs

/// A visit to a caster with TLS over a real connection.
@Suite(.timeLimit(.minutes(10)))
struct CasterOverTLSTests {
  private let authority = TestAuthority()

  private func settings(_ port: UInt16, host: String = "127.0.0.1", caFile: String?) -> CasterSettings {
    var settings = CasterSettings(host: host, port: port, mountPoint: "BASE")
    (settings.isEncrypted, settings.caFile, settings.username) = (true, caFile, "me")
    return settings
  }

  /// The time limit is longer than a busy machine needs, except where the visit must end.
  private func visit(
    _ settings: CasterSettings, answer: Duration = .seconds(600), stop: StopSignal = StopSignal(),
    receive: (CasterVisit.Event) -> Void = { _ in }
  ) -> CasterError {
    var patience = CasterVisit.Patience()
    (patience.answer, patience.silence) = (answer, .seconds(600))
    return CasterVisit(
      caster: settings, password: "secret", version: "1", patience: patience,
      poller: Poller(stop: stop.fileDescriptor), clock: MonotonicClock(), position: { nil }
    ).run(receive)
  }

  @Test(arguments: ["127.0.0.1", "localhost"])
  func `a caster with a certificate for its host is believed, and its messages are extracted`(_ host: String) {
    let messages = [
      MadeMessage.correction(1005), MadeMessage.correction(1077, byteCount: 700), MadeMessage.correction(4072),
    ]
    let caster = ScriptedCaster { visit in
      visit.send("ICY 200 OK\r\n\r\n")
      for message in messages { visit.send(message) }
      visit.close()
    }
    let front = TLSFront(authority.certificate("caster", for: "DNS:localhost,IP:127.0.0.1"), to: caster.port)
    var found: [[UInt8]] = []
    let end = visit(settings(front.port, host: host, caFile: authority.file)) { event in
      if case .message(_, let message) = event { found.append(message) }
    }
    #expect(end == .closed && found == messages)
    // The request contains "me:secret" encoded as in RFC 7617.
    let request = caster.visits.values.first?.request ?? ""
    #expect(request.hasPrefix("GET /BASE HTTP/1.1\r\n") && request.contains("Basic bWU6c2VjcmV0\r\n"), "\(request)")
  }

  @Test func `the dot that ends a complete name is not part of the name in a certificate`() {
    #expect(TLSSession.certifiedName(of: "caster.example.") == "caster.example")
    #expect(TLSSession.certifiedName(of: "caster.example") == "caster.example")
    #expect(TLSSession.certifiedName(of: "::1") == "::1")
  }

  @Test func `messages that take several records and several reads arrive whole`() {
    let large = MadeMessage.correction(1077, byteCount: 1000)
    let caster = ScriptedCaster { visit in
      visit.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      for message in [MadeMessage.correction(1005)] + (0..<20).map({ _ in large }) {
        visit.send("\(String(message.count, radix: 16))\r\n")
        visit.send(message)
        visit.send("\r\n")
      }
      visit.send("0\r\n\r\n")
    }
    let front = TLSFront(authority.certificate("caster", for: "IP:127.0.0.1"), to: caster.port)
    var count = 0
    let end = visit(settings(front.port, caFile: authority.file)) { event in
      if case .message = event { count += 1 }
    }
    #expect(end == .closed && count == 21)
  }

  enum Refused: CaseIterable {
    case otherName, otherAddress, expired, notYetValid, unknownAuthority, unknownToSystem, selfSigned

    /// The fault, and a part of its text.
    var expected: (CertificateFault, String) {
      switch self {
      case .otherName: (.otherName, "is not for localhost: set the host in 'ntrip.caster' to a name in")
      case .otherAddress: (.otherName, "is not for 127.0.0.1: set the host in 'ntrip.caster' to a name in")
      case .expired: (.expired(on: "2021-02-03"), "was valid until 2021-02-03, and this board's clock says 20")
      case .notYetValid:
        (.notYetValid(from: "2039-04-05"), "is valid only from 2039-04-05, and this board's clock says 20")
      case .unknownAuthority: (.unknownAuthority, "no authority in 'ntrip.caFile' vouches for the caster's certificate")
      case .unknownToSystem: (.unknownAuthority, "no authority that this system trusts vouches for the caster's")
      case .selfSigned: (.selfSigned, "is signed by itself, not by an authority")
      }
    }
  }

  @Test(arguments: Refused.allCases)
  func `a wrong certificate is refused with the next step, before the password is sent`(_ refused: Refused) {
    let caster = ScriptedCaster { $0.send("ICY 200 OK\r\n\r\n") }
    let other = TestAuthority()
    let host = refused == .otherName ? "localhost" : "127.0.0.1"
    var caFile: String? = authority.file
    var identity = authority.certificate("caster", for: "IP:127.0.0.1")
    switch refused {
    case .otherName: break
    case .otherAddress: identity = authority.certificate("other", for: "DNS:localhost,IP:127.0.0.2")
    case .expired: identity = authority.certificate("expired", for: "IP:127.0.0.1", until: "20210203000000Z")
    case .notYetValid: identity = authority.certificate("future", for: "IP:127.0.0.1", from: "20390405000000Z")
    case .unknownAuthority: caFile = other.file
    case .unknownToSystem: caFile = nil
    case .selfSigned: identity = authority.selfSigned(for: "IP:127.0.0.1")
    }
    let (fault, words) = refused.expected
    let front = TLSFront(identity, to: caster.port)
    let settings = settings(front.port, host: host, caFile: caFile)
    let end = visit(settings)
    #expect(end == .certificate(fault) && end.isRefusal)
    #expect(end.text(of: settings).contains(words), "\(end.text(of: settings))")
    #expect(end.text(of: settings).hasPrefix("no corrections from ntrips://\(host):\(front.port)/BASE: "))
    #expect(caster.visits.values.isEmpty)
  }

  @Test func `a certificate that is signed by itself is believed if the board file names it`() {
    let caster = ScriptedCaster { visit in
      visit.send("ICY 200 OK\r\n\r\n")
      visit.close()
    }
    let identity = authority.selfSigned(for: "IP:127.0.0.1")
    let front = TLSFront(identity, to: caster.port)
    #expect(visit(settings(front.port, caFile: identity.certificateFile)) == .closed)
    #expect(caster.visits.values.count == 1)
  }

  /// The first bytes of a server that sends no valid handshake.
  enum Nonsense: CaseIterable {
    case http, noise, otherVersion, tooLong, brokenGreeting, endless

    var bytes: [UInt8] {
      switch self {
      case .http: Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
      case .noise: [UInt8](repeating: 0xA5, count: 5000)
      case .otherVersion: [0x16, 9, 9, 0, 1, 0]
      case .tooLong: [0x16, 3, 3, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 70_000)
      // The greeting ends in the middle of its first field.
      case .brokenGreeting: [0x16, 3, 3, 0, 6, 2, 0, 0, 2, 3, 3]
      // A client ignores a HelloRequest here (RFC 5246, section 7.4.1.1).
      case .endless: Array(repeatElement([0x16, 3, 3, 0, 4, 0, 0, 0, 0], count: 20_000).joined())
      }
    }

    /// The reason; `nil` if it is in libssl's words.
    var reason: String? {
      switch self {
      case .http, .noise: "the server answers without TLS"
      case .otherVersion, .tooLong, .brokenGreeting: nil
      case .endless: "the handshake does not end"
      }
    }
  }

  @Test(arguments: Nonsense.allCases)
  func `the hub disconnects from a server that sends no valid handshake`(_ nonsense: Nonsense) {
    let bytes = nonsense.bytes
    let server = ScriptedServer { $0.send(bytes) }
    let settings = settings(server.port, caFile: authority.file)
    let end = visit(settings)
    guard case .noTLS(let words) = end else {
      Issue.record("\(end)")
      return
    }
    #expect(words == nonsense.reason ?? words && !words.isEmpty && !end.isRefusal)
    #expect(end.text(of: settings).contains("no TLS connection: \(words); check whether port \(server.port) uses TLS"))
    #expect(server.clients.values.allSatisfy { $0.waitsForEnd() })
  }

  @Test(arguments: [[], [0x16, 3, 3, 0x40, 0, 2]] as [[UInt8]])
  func `the hub disconnects after the time limit from a server that hangs in the handshake`(_ bytes: [UInt8]) {
    let server = ScriptedServer { $0.send(bytes) }
    let end = visit(settings(server.port, caFile: authority.file), answer: .milliseconds(300))
    #expect(end == .noTLS(reason: "no answer within \(Text.duration(seconds: 0.3))"))
    #expect(server.clients.values.allSatisfy { $0.waitsForEnd() })
  }

  @Test func `a server that closes in the handshake is reported`() {
    let server = ScriptedServer { $0.leave() }
    #expect(
      visit(settings(server.port, caFile: authority.file)) == .noTLS(reason: "the server closed the connection"))
  }

  @Test func `a stop signal ends the handshake at once`() {
    let stop = StopSignal()
    let server = ScriptedServer { _ in stop.set() }
    #expect(visit(settings(server.port, caFile: authority.file), answer: .seconds(3600), stop: stop) == .stopped)
    #expect(server.clients.values.allSatisfy { $0.waitsForEnd() })
  }

  @Test func `a file of authorities that cannot be used is reported before the connection`() throws {
    let server = ScriptedServer()
    let missing = visit(settings(server.port, caFile: "/nowhere"))
    #expect(missing == .unreadableAuthorities(file: "/nowhere", reason: "No such file or directory"))
    let empty = visit(settings(server.port, caFile: "/etc/hostname"))
    guard case .unreadableAuthorities("/etc/hostname", let reason) = empty else {
      Issue.record("\(empty)")
      return
    }
    #expect(!reason.isEmpty && missing.isRefusal && server.clients.values.isEmpty)

    let text =
      "{ name: 'x', devices: { gps: { driver: 'nmea', port: 'p', ntrip: { caster: 'ntrips://a/B', caFile: '/no' } } } }"
    let board = try Board(json5: Array(text.utf8), file: "board")
    let problem = "'devices.gps.ntrip.caFile' cannot be read from /no: No such file or directory"
    #expect(BoardProblems.find(in: board).map(\.description).contains(problem))
    #expect(BoardProblems.find(in: board, isElsewhere: true).allSatisfy { !$0.key.contains("caFile") })
    #expect(BoardProblems.missingFiles(of: board).contains("'devices.gps.ntrip.caFile': /no"))
  }
}
