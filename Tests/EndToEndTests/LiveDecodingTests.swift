import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// Clients of a live receiver get what `decode` finds in a recording of the same bytes.
@Suite(.timeLimit(.minutes(10)))
struct LiveDecodingTests {
  enum Manner: CaseIterable {
    case sentenceBySentence, splitAtAwkwardPlaces, allAtOnce

    func pieces(_ bytes: [UInt8]) -> [[UInt8]] {
      switch self {
      case .allAtOnce: return stride(from: 0, to: bytes.count, by: 4096).map { Array(bytes[$0...].prefix(4096)) }
      case .sentenceBySentence: return bytes.split(separator: 10, omittingEmptySubsequences: false).map { $0 + [10] }
      case .splitAtAwkwardPlaces:
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        // The lengths are unrelated to those of sentences, and include single bytes.
        for length in sequence(first: 1, next: { $0 * 5 % 97 + 1 }) {
          if rest.isEmpty { break }
          pieces.append(Array(rest.prefix(length)))
          rest = rest.dropFirst(length)
        }
        return pieces
      }
    }
  }

  /// A position as gpsd's `TPV` states it. The day is left out, because dates of old receivers are moved forward by
  /// 1024 weeks.
  struct Report: Decodable, Equatable {
    var `class`: String
    var mode: Int
    var time: String?
    var lat, lon: Double?

    var place: String? {
      guard self.class == "TPV", mode >= 2, let lat, let lon else { return nil }
      return "\(time?.split(separator: "T").last ?? "") \(lat) \(lon)"
    }

    static func places(_ lines: String) -> [String] {
      lines.split(whereSeparator: \.isNewline).compactMap {
        (try? JSONDecoder().decode(Report.self, from: Data($0.utf8)))?.place
      }
    }
  }

  /// The part of a state of hub.sock that matters here.
  struct State: Decodable {
    struct Position: Decodable { var lat, lon: Double }
    var position: Position?

    static func places(_ lines: String) -> [String] {
      lines.split(whereSeparator: \.isNewline).compactMap { line in
        (try? JSONDecoder().decode(State.self, from: Data(line.utf8)))?.position.map { "\($0.lat) \($0.lon)" }
      }
    }
  }

  /// Positions that no log contains, which mark the end.
  static let end =
    "$GPRMC,235958.00,A,0001.0000,N,00001.0000,E,0.0,0.0,301226,,,A*5A\r\n"
    + "$GPRMC,235959.00,A,0002.0000,N,00002.0000,E,0.0,0.0,301226,,,A*5B\r\n"

  @Test(.enabled(if: SharedData.isWanted, "left out by SKIP=recordings"), arguments: SharedData.logs)
  func `for every log, a gpsd client and the socket get the positions that decode finds`(_ log: String) throws {
    try compare(log, try #require(SharedData.folder) + "/nmea/\(log).log")
  }

  /// The logs are from four generations of one maker: some mark the end of an epoch, some have additional sentences,
  /// some neither.
  @Test(
    .enabled(if: SharedData.isWanted, "left out by SKIP=recordings"),
    arguments: ["navisys-gr701w", "quectel-l76k-binary", "ublox-neo-m8n", "ublox-zed-f9p-rtk", "ublox-zed-f9r"])
  func `for a log in a binary protocol, a gpsd client and the socket get the positions that decode finds`(_ log: String)
    throws
  {
    try compare(log, try #require(SharedData.folder) + "/ubx/\(log).log")
  }

  /// Whether the client has received all earlier values. They come before the answer to this request, which differs
  /// from all other requests.
  private func hasRead(_ client: SocketClient, _ request: Int) -> Bool {
    let letters = String("\(request)".compactMap { $0.wholeNumberValue.map { Array("ABCDEFGHIJ")[$0] } })
    client.send("?MARK\(letters);")
    return client.receives("'MARK\(letters)'")
  }

  private func compare(_ log: String, _ path: String) throws {
    let bytes = SharedData.read(path) + Array(LiveDecodingTests.end.utf8)
    let recording = "/tmp/sensorhub-test-\(getpid())-\(log).nmea"
    HubProcess.write(bytes, to: recording)
    defer { unlink(recording) }
    let decode = Program(["decode", recording])
    #expect(decode.wait() == 0)
    let recorded = Report.places(decode.standardOutput)
    #expect(recorded.count >= 2)
    // The last position is the second one of the end.
    let last = try #require(decode.lines.last { $0.contains("\"lat\":") })
    let end = try #require(last.firstRange(of: "\"lat\":"))
    let place = last[end.lowerBound...].split(separator: ",").prefix(2).joined(separator: ",")
    for manner in Manner.allCases {
      let terminal = PseudoTerminal()
      let port = SocketClient.freePort()
      let hub = HubProcess(
        board:
          "{ name: \"log\", devices: { gps: { driver: \"nmea\", port: \"\(terminal.path)\", speed: 9600 } }, gpsd: { port: \(port) } }",
        ["--no-journal-state"])
      let client = SocketClient(port: port)
      let states = SocketClient(path: hub.socket)
      states.send("{\"rateHz\": 1000, \"name\": \"states\"}\n")
      client.send("?WATCH={\"enable\":true,\"json\":true};")
      // Bytes sent before the port is open are lost.
      #expect(
        eventually {
          let receiver = hub.devicesNow["gps"]
          return receiver.power == "acquiring"
            && ["gpsd", "states"].allSatisfy { name in receiver.holders.contains { $0.hasPrefix(name) } }
        })
      var written = 0
      var requests = 0
      for piece in manner.pieces(bytes) {
        terminal.write(piece)
        written += piece.count
        // Two minutes of data at once would be too much for a client that had no chance to read.
        if written >= 4096 {
          written = 0
          requests += 1
          #expect(eventually { terminal.isRead } && hasRead(client, requests), "\(manner)")
        }
      }
      #expect(client.receives(place) && hasRead(client, requests + 1), "\(manner)")
      #expect(Report.places(client.text) == recorded, "\(manner)")
      // There is at most one state a millisecond. So not every position appears, but the last one does, and none that
      // was never reported.
      let places = recorded.map { $0.split(separator: " ").suffix(2).joined(separator: " ") }
      #expect(states.receives { State.places($0).last == places.last }, "\(manner)")
      #expect(Set(State.places(states.text)).isSubset(of: places), "\(manner)")
      client.leave()
      states.leave()
      #expect(hub.stop() == 0)
    }
  }
}
