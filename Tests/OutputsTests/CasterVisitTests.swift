import Guarding
import HardwareIO
import Hub
import MonotonicTime
import TestSupport
import Testing

@testable import Outputs

/// A visit to a caster over a real connection.
@Suite(.timeLimit(.minutes(10)))
struct CasterVisitTests {
  private func settings(_ caster: ScriptedCaster, mountPoint: String = "BERLIN1") -> CasterSettings {
    CasterSettings(host: "127.0.0.1", port: caster.port, mountPoint: mountPoint)
  }

  /// The machine's clock, which a test may advance.
  private final class AdjustedClock: MonotonicTimeSource {
    private let ahead = Guarded(Duration.zero)

    var now: MonotonicInstant { MonotonicClock().now + ahead.withLock { $0 } }
    var minimumResolution: Duration { .nanoseconds(1) }

    func put(forward duration: Duration) { ahead.withLock { $0 += duration } }

    func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
      MonotonicClock().schedule(at: deadline, action)
    }
  }

  /// The time limit is longer than a busy machine needs, except where the visit must end.
  private func visit(
    _ settings: CasterSettings, password: String = "", answer: Duration = .seconds(600),
    silence: Duration = .seconds(600), stop: StopSignal = StopSignal(), clock: AdjustedClock = AdjustedClock(),
    position: @escaping () -> String? = { nil }, receive: (CasterVisit.Event) -> Void = { _ in }
  ) -> CasterError {
    var patience = CasterVisit.Patience()
    (patience.answer, patience.silence, patience.position) = (answer, silence, .milliseconds(20))
    return CasterVisit(
      caster: settings, password: password, version: "1", patience: patience,
      poller: Poller(stop: stop.fileDescriptor), clock: clock, position: position
    ).run(receive)
  }

  @Test func `messages are extracted from the caster's bytes, and noise is dropped`() {
    let messages = [
      MadeMessage.correction(1005), MadeMessage.correction(1077, byteCount: 700), MadeMessage.correction(4072),
    ]
    let caster = ScriptedCaster { visit in
      visit.send("ICY 200 OK\r\nServer: old\r\n\r\n")
      for message in messages { for byte in message { visit.send([byte]) } }
      visit.send("noise")
      visit.close()
    }
    var (found, bytes): ([[UInt8]], Int) = ([], 0)
    let end = visit(
      settings(caster),
      receive: { event in
        switch event {
        case .message(_, let message): found.append(message)
        case .bytes(let count): bytes += count
        case .connected: break
        }
      })
    #expect(end == .closed)
    #expect(found == messages && bytes > messages.joined().count)
  }

  @Test func `a request has the form of its protocol version, and a password only with a user name`() throws {
    let caster = ScriptedCaster { $0.close() }
    var settings = settings(caster)
    #expect(visit(settings) == .closed)
    settings.username = "me@example.org"
    settings.version = 1
    #expect(visit(settings, password: "secret") == .closed)
    let requests = caster.visits.values.map(\.request)
    try #require(requests.count == 2)
    #expect(
      requests[0].hasPrefix("GET /BERLIN1 HTTP/1.1\r\n") && requests[0].contains("\r\nNtrip-Version: Ntrip/2.0\r\n"))
    #expect(requests[0].contains("\r\nHost: 127.0.0.1:\(caster.port)\r\n") && !requests[0].contains("Authorization"))
    #expect(requests[0].contains("\r\nUser-Agent: NTRIP sensorhub/1\r\n"))
    #expect(requests[1].hasPrefix("GET /BERLIN1 HTTP/1.0\r\n") && !requests[1].contains("Ntrip-Version"))
    // The credentials are me@example.org:secret.
    #expect(requests[1].contains("\r\nAuthorization: Basic bWVAZXhhbXBsZS5vcmc6c2VjcmV0\r\n"))
  }

  private static let table = "STR;BERLIN;x\r\nSTR;BERLIN2;x\r\nSTR;PARIS;x\r\nENDSOURCETABLE\r\n"

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: \(table.utf8.count)\r\n\r\n\(table)",
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nSOURCETABLE 200 OK\r\nServer: x\r\n\r\n\(table)",
    "HTTP/1.1 200 OK\r\nSOURCETABLE 200 OK\r\nContent-Type: text/plain\r\n\r\n\(table)",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nSTR;x",
    "HTTP/1.1 200 OK\r\nContent-Type: gnss/sourcetable\r\nTransfer-Encoding: chunked\r\n\r\n"
      + "\(String(table.utf8.count, radix: 16))\r\n\(table)\r\n0\r\n\r\n",
  ])
  func `a source table in place of corrections is recognised, whatever its header says`(_ answer: String) {
    for byByte in [false, true] {
      // The caster does not close the connection. The answer ends by itself.
      let caster = ScriptedCaster { visit in
        if byByte { for byte in answer.utf8 { visit.send([byte]) } } else { visit.send(answer) }
      }
      let end = visit(settings(caster))
      guard case .noSuchMountPoint(_, let count) = end else {
        Issue.record("\(end)")
        continue
      }
      #expect(count == (answer.hasSuffix("STR;x") ? 0 : 3))
      #expect(end.text(of: settings(caster)).contains("the caster has no mount point BERLIN1"))
    }
  }

  @Test(arguments: [true, false])
  func `a web page in place of corrections is refused, and not requested again and again`(
    _ isClosed: Bool
  ) {
    let page = "<!DOCTYPE html><html><body>Please log in</body></html>"
    let length = isClosed ? "" : "Content-Length: \(page.utf8.count)\r\n"
    let caster = ScriptedCaster { visit in
      visit.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\(length)\r\n\(page)")
      if isClosed { visit.close() }
    }
    let end = visit(settings(caster))
    #expect(end == .noCorrections && end.isRefusal)
    #expect(end.text(of: settings(caster)).contains("the data is not RTCM 3"))
  }

  @Test func `a missing mount point is reported with the nearest existing one`() {
    let table = "STR;BERLIN;x\r\nSTR;BERLIN2;x\r\nSTR;PARIS;x\r\nENDSOURCETABLE\r\n"
    let second = ScriptedCaster { visit in
      visit.send(
        visit.path == "/"
          ? "HTTP/1.1 200 OK\r\nContent-Type: gnss/sourcetable\r\n\r\n\(table)" : "HTTP/1.1 404 Not Found\r\n\r\n")
      visit.close()
    }
    let first = ScriptedCaster { $0.send("SOURCETABLE 200 OK\r\n\r\n\(table)") }
    for caster in [second, first] {
      let end = visit(settings(caster))
      #expect(end == .noSuchMountPoint(nearest: ["BERLIN", "BERLIN2"], count: 3))
      #expect(
        end.text(of: settings(caster)).hasSuffix("the caster has no mount point BERLIN1: did you mean BERLIN, BERLIN2?")
      )
    }
    #expect(second.visits.values.map(\.path) == ["/BERLIN1", "/"])
    #expect(first.visits.values.map(\.path) == ["/BERLIN1"])
  }

  @Test func `a caster that stays silent or does not send corrections is disconnected`() {
    let silent = ScriptedCaster()
    #expect(visit(settings(silent), answer: .milliseconds(300)) == .silent)
    let mute = ScriptedCaster { $0.send("ICY 200 OK\r\n") }
    #expect(visit(settings(mute), silence: .milliseconds(300)) == .silent)
    let chatter = ScriptedCaster { visit in
      visit.send("ICY 200 OK\r\n")
      visit.send([UInt8](repeating: 0x55, count: 40_000))
    }
    #expect(visit(settings(chatter)) == .noCorrections)
    #expect((mute.visits.values + chatter.visits.values).allSatisfy { $0.waitsForEnd() })
  }

  private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"

  @Test(arguments: [
    ("\(chunked)\r\n", "0", CasterError.broken), ("\(chunked)\r\n1;", "x", .broken),
    ("\(chunked)\r\n1\r\na", "x", .broken), ("\(chunked)\r\n1\r\na", "\r", .broken),
    // Each two hundred bytes contain one byte of a body, and none of a message.
    ("\(chunked)\r\n", "1;\(String(repeating: "x", count: 200))\r\na\r\n", .noCorrections),
    ("HTTP/1.1 200 OK\r\nX: ", "x", .noCaster("")), ("HTTP/1.1 200 OK\r\n", "X: x\r\n", .noCaster("")),
    ("ICY 200 OK\r\n", "x", .noCorrections),
  ]) func `a caster that repeats one thing endlessly is soon disconnected`(
    _ begun: String, _ endless: String, _ reason: CasterError
  ) {
    let caster = EndlessCaster(begun, endless)
    // The time is longer than a busy machine needs, and still short for a test with a caster that is never silent.
    #expect(visit(settings(caster.caster), silence: .seconds(60)) == reason)
    caster.waitUntilLeft()
    // Most of the bytes wait in the sockets of both ends.
    #expect(caster.sentByteCount < EndlessCaster.most)
  }

  @Test(arguments: [
    ("SOURCETABLE 200 OK\r\n\r\nSTR;A;", "x"), ("SOURCETABLE 200 OK\r\n\r\n", "STR;A;x\r\n"),
    ("\(chunked)Content-Type: gnss/sourcetable\r\n\r\n", "1;\(String(repeating: "x", count: 200))\r\na\r\n"),
    ("\(chunked)Content-Type: gnss/sourcetable\r\n\r\n", "0"),
  ]) func `an endless source table is read up to the largest allowed size`(
    _ begun: String, _ endless: String
  ) {
    let caster = EndlessCaster(begun, endless)
    switch visit(settings(caster.caster)) {
    case .noSuchMountPoint(_, let count): #expect(count <= 20_000)
    // The bytes after the header are not a complete table.
    case .broken: #expect(endless == "0")
    case let other: Issue.record("\(other)")
    }
    caster.waitUntilLeft()
    #expect(caster.sentByteCount < EndlessCaster.most)
  }

  /// Sends a beginning and then the same text repeatedly, for as long as the client accepts it.
  private final class EndlessCaster: Sendable {
    /// More bytes than a visit reads and the sockets of both ends hold.
    static let most = 64 << 20

    /// The progress of the visit.
    private final class Progress: Sendable {
      let sentByteCount = Guarded(0)
      let hasBeenLeft = StopSignal()
    }

    let caster: ScriptedCaster
    private let progress = Progress()

    var sentByteCount: Int { progress.sentByteCount.withLock { $0 } }

    init(_ begun: String, _ endless: String) {
      let piece = Array(String(repeating: endless, count: max(1, 16384 / endless.utf8.count)).utf8)
      caster = ScriptedCaster { [progress] visit in
        visit.send(begun)
        while visit.isOpen, progress.sentByteCount.withLock({ $0 }) < EndlessCaster.most {
          visit.send(piece)
          progress.sentByteCount.withLock { $0 += piece.count }
        }
        progress.hasBeenLeft.set()
      }
    }

    func waitUntilLeft() { hold { progress.hasBeenLeft.isSet } }
  }

  @Test func `a caster that sends endlessly is read at a limited rate`() throws {
    let count = 150
    let flood = Array((0..<count).map { _ in MadeMessage.correction(1077, byteCount: 700) }.joined())
    let caster = ScriptedCaster { visit in
      visit.send("ICY 200 OK\r\n")
      visit.send(flood)
      visit.close()
    }
    let clock = MonotonicClock()
    // The seconds count from before the connection, because its report may be late.
    let began = clock.now
    var lastAt: MonotonicInstant?
    var messages = 0
    let end = visit(
      settings(caster),
      receive: { event in
        switch event {
        case .connected: break
        case .bytes: lastAt = clock.now
        case .message: messages += 1
        }
      })
    // Bytes beyond the limit wait, and are not lost.
    #expect(end == .closed && messages == count)
    // The limit applies to two seconds and one read more, whatever pieces the data comes in.
    #expect(flood.count > 2 * (32 + 4) * 1024)
    #expect(try #require(lastAt) - began >= .seconds(2))
  }

  @Test func `an unreachable caster and an unknown name are reported`() {
    let port = SocketClient.freePort()
    #expect(
      visit(CasterSettings(host: "127.0.0.1", port: port, mountPoint: "X"))
        == .unreachable(reason: "Connection refused"))
    guard case .unknownHost = visit(CasterSettings(host: "no..such", mountPoint: "X")) else {
      Issue.record("a host that is not there is known")
      return
    }
  }

  @Test func `a stop signal ends a visit at once, whatever it waits for`() {
    for answer in ["", "ICY 200 OK\r\n"] {
      let stop = StopSignal()
      let caster = ScriptedCaster { visit in
        visit.send(answer)
        stop.set()
      }
      var patience = CasterVisit.Patience()
      patience.answer = .seconds(3600)
      patience.silence = .seconds(3600)
      let end = CasterVisit(
        caster: settings(caster), password: "", version: "1", patience: patience,
        poller: Poller(stop: stop.fileDescriptor), clock: MonotonicClock(), position: { nil }
      ).run { _ in }
      #expect(end == .stopped)
      #expect(caster.visits.values.allSatisfy { $0.waitsForEnd() })
    }
  }

  @Test func `the position is sent if the caster needs it, once it is known, and then repeatedly`() throws {
    let caster = ScriptedCaster { visit in
      visit.send("ICY 200 OK\r\n")
      // A caster with corrections for a given place sends nothing before it knows the place.
      hold {
        if visit.told.contains("$GPGGA") { visit.send(MadeMessage.correction(1005)) }
        return !visit.isOpen
      }
    }
    var settings = settings(caster)
    settings.positionInterval = .milliseconds(20)
    let (stop, clock) = (StopSignal(), AdjustedClock())
    var asked = 0
    let end = visit(
      settings, stop: stop, clock: clock,
      position: {
        asked += 1
        if let visit = caster.visits.values.first, visit.told.ranges(of: "$GPGGA").count > 2 { stop.set() }
        if asked > 6 { return "$GPGGA,\(asked)\r\n" }
        // The clock advances by more than the permitted silence.
        clock.put(forward: .seconds(200))
        return nil
      })
    #expect(end == .stopped)
    let visit = try #require(caster.visits.values.first)
    #expect(!visit.request.contains("GGA") && visit.told.hasPrefix("$GPGGA,7\r\n"), "\(visit.told)")
  }
}
