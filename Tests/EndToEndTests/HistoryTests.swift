import FoundationEssentials
import Glibc
import HardwareIO
import MCAP
import TestSupport
import Testing

/// Recorded data on the web port, for programs.
@Suite(.serialized, .sharesFixtures, .timeLimit(.minutes(10))) struct HistoryTests {
  private static let first = "sensorhub-20261122T100000Z-001.mcap"
  private static let second = "sensorhub-20261122T100200Z-002.mcap"
  /// The query for the whole recorded drive.
  private static let drive = "from=2026-11-22T10:00:00Z&to=2026-11-22T10:05:00Z"

  private struct Page: Decodable {
    struct State: Decodable {
      var time: String
      var monotonic: Double
    }
    var states: [State]
    var next: String?
  }

  private struct Recordings: Decodable {
    struct Recording: Decodable, Equatable {
      var name: String
      var from, to: String?
      var bytes: Int
      var writing: Bool
    }
    var recordings: [Recording]
  }

  private struct PowerPage: Decodable {
    struct Change: Decodable {
      var id, power, time: String
      var holders: [String]?
    }
    var changes: [Change]
  }

  /// A hub that can record, and the recordings in its folder.
  private class Recorder {
    let port = SocketClient.freePort()
    let recorded: RecordedDrive
    let hub: HubProcess

    /// - Parameter more: the board file's section about the recorder
    init(_ more: String? = nil, recorded: RecordedDrive = RecordedDrive()) {
      self.recorded = recorded
      let record = "record: { path: \"\(recorded.folder)\", syncSeconds: 0.2 }"
      hub = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port) }, \(more ?? record)"))
      #expect(hub.logs("dashboard on"), "\(hub.program.standardError)")
    }

    func get(_ path: String) -> HTTPAnswer { HTTPAnswer(port, "GET", path) }

    func decoded<Value: Decodable>(_ path: String, as type: Value.Type = Value.self) throws -> Value {
      let answer = get(path)
      #expect(answer.status == 200, "\(answer.body.prefix(300))")
      return try JSONDecoder().decode(type, from: Data(answer.body.utf8))
    }

    func page(_ query: String) throws -> Page { try decoded("/history?\(query)") }

    /// Returns the times of the states that a query returns, over all pages.
    func times(_ query: String) throws -> (times: [String], pageCount: Int) {
      var times: [String] = []
      var count = 0
      var path: String? = "/history?\(query)"
      while let present = path, count < 1000 {
        let page: Page = try decoded(present)
        times += page.states.map(\.time)
        count += 1
        path = page.next
      }
      return (times, count)
    }

    /// Downloads a file as bytes, because `HTTPAnswer` treats everything as text.
    func download(_ name: String) -> (head: String, bytes: [UInt8]) {
      let client = SocketClient(port: port)
      client.send("GET /recordings/\(name) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      #expect(client.waitsForEnd())
      let bytes = client.bytes
      let end = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.lowerBound ?? bytes.endIndex
      return (String(decoding: bytes[..<end], as: UTF8.self), Array(bytes.dropFirst(end + 4)))
    }
  }

  /// A hub that has two segments of the drive, and that no test makes record.
  private final class TwoSegments: Recorder, SharedFixture, @unchecked Sendable {
    // Unchecked, and safe: all properties are constants, and their types have only constants that are `Sendable`.
    required init() throws {
      let recorded = RecordedDrive()
      try HistoryTests.writeTwoSegments(recorded)
      // Its name is not that of a segment.
      _ = try recorded.write("drive.mcap")
      super.init(recorded: recorded)
    }
  }

  private static func writeTwoSegments(_ recorded: RecordedDrive) throws {
    _ = try recorded.write(HistoryTests.first, seconds: 0..<100)
    _ = try recorded.write(HistoryTests.second, seconds: 100..<200)
  }

  private func contentLength(_ head: String) -> Int? {
    head.lowercased().split(separator: "content-length: ").last.flatMap { Int($0.prefix { $0.isNumber }) }
  }

  // MARK: States

  @Test func `pages of the history join exactly, with every state on one of them`() throws {
    let recorder = try TwoSegments.shared()
    // If a page takes a busy machine longer than a second, the hub sends it incomplete and puts the rest on another
    // page. Then the query is repeated.
    func pages(_ query: String, _ count: Int) throws -> [String] {
      var found: (times: [String], pageCount: Int) = ([], 0)
      #expect(
        try eventually {
          found = try recorder.times(query)
          return found.pageCount == count
        }, "\(found.pageCount) pages")
      return found.times
    }
    let whole = try pages("\(HistoryTests.drive)&every=0", 1)
    #expect(whole.count == 300)
    #expect(whole == whole.sorted() && Set(whole).count == 300)
    #expect(whole.first == "2026-11-22T10:00:00.000Z")
    #expect(try pages("\(HistoryTests.drive)&every=0&limit=7", 43) == whole)
    // The distance is ten seconds unless requested otherwise, and stays the same on all pages.
    let seldom = try recorder.times(HistoryTests.drive)
    #expect(seldom.times.count == 16, "\(seldom.times)")
    #expect(try recorder.times("\(HistoryTests.drive)&limit=3").times == seldom.times)
    #expect(try recorder.times("\(HistoryTests.drive)&every=10").times == seldom.times)
    // The query names the same instants as seconds since 1970.
    #expect(try recorder.times("from=1795341600&to=1795341900.000").times == seldom.times)
    #expect(recorder.hub.devicesNow.devices.allSatisfy { $0.wakes == 0 })
  }

  @Test func `a time without data is an empty list in each form`() throws {
    let recorder = try TwoSegments.shared()
    for query in ["from=2026-11-22T11:00:00Z&to=2026-11-22T12:00:00Z", "from=0&to=1"] {
      let page = try recorder.page(query)
      #expect(page.states.isEmpty && page.next == nil)
      #expect(try recorder.decoded("/history/power?\(query)", as: PowerPage.self).changes.isEmpty)
      let gpx = recorder.get("/history/track.gpx?\(query)")
      #expect(gpx.status == 200 && gpx.body.contains("<gpx version") && !gpx.body.contains("<trk>"))
    }
  }

  @Test(arguments: [
    ("/history?from=yesterday", 400, "'from' must be a time in UTC, such as 2026-11-22T10:00:00Z, or seconds"),
    ("/history?from=2026-02-30T10:00:00Z", 400, "'from' must be"), ("/history?from=-5", 400, "'from' must be"),
    ("/history?to=1e9", 400, "'to' must be"), ("/history?from=10&to=10", 400, "'from' must be before 'to'"),
    ("/history?limit=1.9", 400, "'limit' must be a whole number"),
    ("/history?simplify=5", 400, "'simplify' is not a parameter of this path"),
    ("/history/power?every=60", 400, "'every' is not a parameter of this path"),
    ("/history/track.gpx?limit=10", 400, "'limit' is not a parameter of this path"),
    ("/history?every=-1", 400, "'every' must be a number from 0 to 86400"),
    ("/history/track.gpx?simplify=-1", 400, "'simplify' must be a number from 0 to 100000"),
    ("/history?form=10", 400, "'form' is not a parameter of this path; did you mean 'from'?"),
    ("/history?limit=1001", 400, "'limit' must be a number from 1 to 1000"),
    ("/history?after=x", 400, "'after' is only for pages that 'next' names"),
    ("/history?from=1&from=2", 400, "'from' is given 2 times"),
    ("/history/power?from=x", 400, "'from' must be"), ("/history/track.gpx?to=x", 400, "'to' must be"),
    ("/recordings/..", 404, ""), ("/recordings/../board.json5", 404, ""),
    ("/recordings/..%2Fboard.json5", 404, "/recordings lists them"),
    ("/recordings/%2e%2e%2fetc%2fpasswd", 404, ""), ("/recordings//etc/passwd", 404, ""),
    ("/recordings/%2Fetc%2Fpasswd", 404, "/recordings lists them"),
    ("/recordings/drive.mcap", 404, "/recordings lists them"),
    ("/recordings/sensorhub-20261122T100000Z-001.mcap%00", 404, "/recordings lists them"),
    ("/recordings/sensorhub-20261122T100000Z-999.mcap", 404, "/recordings lists them"),
  ])
  func `an invalid query is refused with a reason`(_ path: String, _ status: Int, _ message: String) throws {
    let recorder = try TwoSegments.shared()
    let answer = recorder.get(path)
    #expect(answer.status == status)
    #expect(answer.body.contains(message), "\(answer.body)")
  }

  @Test func `a board that does not record says so`() {
    let recorder = Recorder("")
    for path in [
      "/history", "/history/power", "/history/track.gpx", "/recordings", "/recordings/\(HistoryTests.first)",
    ] {
      let answer = recorder.get(path)
      #expect(answer.status == 404)
      #expect(answer.body.contains(#"{"error":{"message":"this board records nothing"#), "\(answer.body)")
    }
    #expect(!recorder.get("/").body.contains(#"data-records="yes""#))
    #expect(recorder.hub.stop() == 0)
  }

  @Test func `overlapping segments of two hubs are read one after the other`() throws {
    let recorded = RecordedDrive()
    _ = try recorded.write(HistoryTests.first, seconds: 0..<60)
    _ = try recorded.write("sensorhub-20261122T100030Z-001.mcap", seconds: 30..<60)
    let recorder = Recorder(recorded: recorded)
    let whole = try recorder.times("\(HistoryTests.drive)&every=0").times
    #expect(whole.count == 180 && Set(whole).count == 120)
    #expect(try recorder.times("\(HistoryTests.drive)&every=0&limit=11").times == whole)
    #expect(recorder.hub.stop() == 0)
  }

  @Test func `if a segment is deleted during a query, the rest comes from the other segments`() throws {
    let recorded = RecordedDrive()
    try HistoryTests.writeTwoSegments(recorded)
    let recorder = Recorder(recorded: recorded)
    let page = try recorder.page("\(HistoryTests.drive)&every=0&limit=50")
    unlink(recorder.recorded.path(HistoryTests.first))
    let rest: Page = try recorder.decoded(try #require(page.next))
    // The second segment begins a hundred seconds later.
    #expect(rest.states.first?.time == "2026-11-22T10:01:40.000Z")
    #expect(recorder.get("/recordings/\(HistoryTests.first)").status == 404)
    #expect(try recorder.decoded("/recordings", as: Recordings.self).recordings.map(\.name) == [HistoryTests.second])
    unlink(recorder.recorded.path(HistoryTests.second))
    #expect(try recorder.page("\(HistoryTests.drive)&every=0").states.isEmpty)
    #expect(recorder.hub.stop() == 0)
  }

  // MARK: Files and tracks

  @Test func `recordings are listed, and can be downloaded unchanged`() throws {
    let recorder = try TwoSegments.shared()
    let list = try recorder.decoded("/recordings", as: Recordings.self).recordings
    let size = try Files.bytes(of: recorder.recorded.path(HistoryTests.first)).count
    #expect(
      list.first
        == Recordings.Recording(
          name: HistoryTests.first, from: "2026-11-22T10:00:00.000Z", to: "2026-11-22T10:01:39.500Z", bytes: size,
          writing: false))
    #expect(list.map(\.name) == [HistoryTests.first, HistoryTests.second])
    let (head, bytes) = recorder.download(HistoryTests.first)
    #expect(try bytes == Files.bytes(of: recorder.recorded.path(HistoryTests.first)))
    #expect(contentLength(head) == size)
    #expect(head.contains("Content-Disposition: attachment; filename=\"\(HistoryTests.first)\""))
    #expect(HTTPAnswer(recorder.port, "HEAD", "/recordings/\(HistoryTests.first)").body.isEmpty)
    #expect(recorder.hub.devicesNow.devices.allSatisfy { $0.wakes == 0 })
  }

  @Test func `the segment that is being recorded can be read and downloaded`() throws {
    let recorder = Recorder()
    let client = SocketClient(path: recorder.hub.socket)
    let all = "from=0&to=9000000000&every=0"
    // The recorder writes what the client has received.
    #expect(try eventually { try recorder.page(all).states.count > 20 })
    let present = try #require(try recorder.decoded("/recordings", as: Recordings.self).recordings.first)
    #expect(present.writing && present.from != nil)
    let (head, bytes) = recorder.download(present.name)
    #expect(contentLength(head) == bytes.count)
    let reader = try MCAPReader(MCAPBytes(bytes))
    try reader.check()
    #expect(reader.isIndexed && reader.damage == nil)
    // The default is the last hour.
    #expect(try eventually { try recorder.page("every=0").states.count > 20 })
    client.leave()
    #expect(recorder.hub.comesToRest())
    let changes = { try recorder.decoded("/history/power", as: PowerPage.self).changes.filter { $0.id == "gps" } }
    #expect(try eventually { try changes().last?.power == "off" })
    let powers = try changes().map(\.power)
    #expect(powers.contains("tracking") && zip(powers, powers.dropFirst()).allSatisfy { $0 != $1 })
    let tracking = try changes().first { $0.power == "tracking" }
    #expect(tracking?.holders?.isEmpty == false)
    #expect(recorder.hub.devicesNow["gps"].wakes == 1)
    #expect(recorder.hub.stop() == 0)
  }

  @Test func `stalled downloads are closed to make room for others`() throws {
    let recorded = RecordedDrive()
    try HistoryTests.writeTwoSegments(recorded)
    // The recording is larger than the buffers between server and client.
    var writer = try MCAPWriter(MCAPFileSink(path: recorded.path(HistoryTests.second)))
    let channel = try writer.addChannel(topic: "/a", messageEncoding: "x")
    for index in 0..<32 {
      try writer.append(
        [UInt8](repeating: 1, count: 1 << 20), channelID: channel,
        logTimeNanoseconds: RecordedDrive.start + UInt64(index))
    }
    try writer.finish()
    let recorder = Recorder(recorded: recorded)
    let request = Array("GET /recordings/\(HistoryTests.second) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
    let clients = (0..<8).map { _ in SocketClient.connect(port: recorder.port) }
    defer { for client in clients { close(client) } }
    for client in clients { #expect(write(client, request, request.count) == request.count) }
    let path = "/recordings/\(HistoryTests.first)"
    #expect(eventually { recorder.get(path).status == 503 })
    #expect(eventually(within: .seconds(90)) { recorder.get(path).status == 200 })
    #expect(recorder.hub.stop() == 0)
  }

  @Test func `a track can be downloaded as GPX, with its interruptions`() throws {
    let recorder = try TwoSegments.shared()
    func segments(_ query: String) -> [Int] {
      let answer = recorder.get("/history/track.gpx?\(query)")
      #expect(answer.status == 200 && answer.head.contains("Content-Type: application/gpx+xml"))
      let body = answer.body
      #expect(body.contains("</gpx>"))
      return body.split(separator: "<trkseg>").dropFirst().map { $0.split(separator: "<trkpt ").count - 1 }
    }
    #expect(segments("\(HistoryTests.drive)&every=0") == [60, 60, 30])
    #expect(segments(HistoryTests.drive) == [60, 60, 30])
    // Leaving out points does not make an interruption.
    let coarse = segments("\(HistoryTests.drive)&every=30")
    #expect(coarse.count <= 3 && coarse.reduce(0, +) >= 5, "\(coarse)")
    // Points that no line needs are left out, and every interruption stays.
    let simple = segments("\(HistoryTests.drive)&every=0&simplify=5")
    #expect(simple.count == 3 && simple.allSatisfy { (2...30).contains($0) }, "\(simple)")
  }

  @Test
  func `xmllint accepts a downloaded track`() throws {
    let recorder = try TwoSegments.shared()
    let file = recorder.recorded.path("track.gpx")
    let body = recorder.get("/history/track.gpx?\(HistoryTests.drive)").body
    // The body is written without the chunks in which it was sent.
    HubProcess.write(unchunked(body), to: file)
    let checker = Program(["--noout", file], path: "/usr/bin/xmllint")
    #expect(checker.wait() == 0, "\(checker.standardError)")
  }

  /// Joins the chunks of an HTTP/1.1 body (RFC 9112, section 7.1).
  private func unchunked(_ body: String) -> [UInt8] {
    var rest = Array(body.utf8)[...]
    var bytes: [UInt8] = []
    while let end = rest.firstIndex(of: 13) {
      guard let count = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16), count > 0 else { break }
      bytes += rest.dropFirst(end + 2 - rest.startIndex).prefix(count)
      rest = rest.dropFirst(end + 2 - rest.startIndex + count + 2)
    }
    return bytes
  }

  @Test func `clients that request everything at once and leave do no harm`() throws {
    let recorded = RecordedDrive()
    try HistoryTests.writeTwoSegments(recorded)
    let recorder = Recorder(recorded: recorded)
    // After one answer everything that the hub needs for history is running.
    #expect(recorder.get("/history?\(HistoryTests.drive)").status == 200)
    let before = recorder.hub.resources
    for _ in 0..<100 {
      let client = SocketClient(port: recorder.port)
      client.send("GET /history?\(HistoryTests.drive)&every=0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
      client.leave()
      let other = SocketClient(port: recorder.port)
      other.send("GET /recordings/\(HistoryTests.first) HTTP/1.1\r\nHost: localhost\r\n\r\n")
      other.leave()
    }
    #expect(eventually { recorder.get("/history?\(HistoryTests.drive)").status == 200 })
    let isBack = eventually { zip(recorder.hub.resources, before).allSatisfy { $0 <= $1 + 2 } }
    #expect(isBack, "\(recorder.hub.resources) \(before)")
    #expect(recorder.hub.stop() == 0)
  }
}
