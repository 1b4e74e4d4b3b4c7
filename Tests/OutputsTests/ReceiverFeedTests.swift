import Devices
import Hub
import MonotonicTime
import NMEA
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// The output of a receiver for its clients, in any protocol.
@Suite(.timeLimit(.minutes(10)))
struct ReceiverFeedTests {
  private let now = MonotonicInstant(nanoseconds: 100_000_000_000)

  /// Returns the epoch that some messages or sentences form.
  private func epoch(of bytes: [UInt8]) throws -> GNSSObservation {
    var decoder = ReceiverDecoder()
    var last: GNSSObservation?
    bytes.withUnsafeBufferPointer { decoder.take($0, readAt: now, receive: { last = copy $0 }) }
    decoder.endEpoch(at: now) { last = copy $0 }
    return try #require(last)
  }

  private func received(_ bytes: [UInt8], isBinary: Bool) -> ReceiverOutput {
    .bytes(ReceivedBytes(bytes: bytes, isBinary: isBinary, beganAt: now, readAt: now))
  }

  private let solution = MadeMessage.navPVT(
    timeOfWeekMilliseconds: (86_400 + 43_200 + 18 + 5) * 1000, latitudeDegrees: 52, longitudeDegrees: -13.25, second: 5)

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test func `sentences made from binary messages have the same values`() throws {
    let epoch = try epoch(of: solution)
    var feed = ReceiverFeed()
    #expect(feed.bytes(of: received(solution, isBinary: true)).isEmpty)
    let sentences = feed.bytes(of: .epoch(epoch))
    let lines = text(sentences).split(separator: "\r\n")
    #expect(lines.map { $0.dropFirst(3).prefix(3) } == ["RMC", "GGA", "VTG", "GST", "ZDA"], "\(lines)")
    #expect(lines.allSatisfy { $0.utf8.count <= 80 }, "\(lines)")
    let back = try self.epoch(of: sentences).fix
    #expect(back.mode == .threeDimensional && back.status == .gnss && back.time == epoch.fix.time)
    #expect(abs((back.position?.longitudeDegrees ?? 0) + 13.25) < 1e-7)
    #expect(back.altitudeMSLMetres == 40 && back.satellitesUsed == 11 && abs((back.trackDegrees ?? 0) - 53.1) < 0.01)
  }

  @Test func `a time just before midnight has the date of its rounded time in all sentences`() throws {
    // 23 November 2026, 00:00:00, and nanoseconds below zero, as a u-blox states it.
    var payload = Array(solution.dropFirst(6).dropLast(2))
    (payload[8], payload[9], payload[10]) = (0, 0, 0)
    payload.replaceSubrange(16..<20, with: withUnsafeBytes(of: Int32(-200_000).littleEndian) { Array($0) })
    let midnight = MadeMessage.ubx(0x0107, payload)
    var feed = ReceiverFeed()
    _ = feed.bytes(of: received(midnight, isBinary: true))
    let made = text(feed.bytes(of: .epoch(try epoch(of: midnight))))
    #expect(made.contains("$GPZDA,000000.00,23,11,2026,00,00*"), "\(made)")
    #expect(made.contains(",231126,"), "\(made)")
  }

  @Test func `a sentence made from an epoch without a fix says so`() throws {
    var payload = Array(solution.dropFirst(6).dropLast(2))
    (payload[20], payload[21]) = (0, 0)
    let none = MadeMessage.ubx(0x0107, payload)
    var feed = ReceiverFeed()
    _ = feed.bytes(of: received(none, isBinary: true))
    let made = text(feed.bytes(of: .epoch(try epoch(of: none))))
    #expect(made.hasPrefix("$GPRMC,120005.00,V,,,,,,,231126,,,N*"), "\(made)")
    #expect(made.contains("\r\n$GPGGA,120005.00,,,,,0,"), "\(made)")
  }

  @Test func `messages are delivered in hexadecimal or as they came, as requested`() throws {
    var feed = ReceiverFeed()
    let end = MadeMessage.ubx(0x0161, [1, 2, 3, 4])
    let both = received(end + solution, isBinary: true)
    let digits = text(feed.bytes(of: both, sentences: false, raw: 1)).split(separator: "\r\n")
    #expect(digits.count == 2 && digits[0] == "b562016104000102030470db", "\(digits)")
    #expect(digits[1].count == solution.count * 2)
    #expect(feed.bytes(of: both, sentences: false, raw: 2) == end + solution)
    #expect(feed.bytes(of: both, sentences: true, raw: 0).isEmpty)
    #expect(feed.bytes(of: .epoch(try epoch(of: solution)), sentences: false, raw: 2).isEmpty)
  }

  @Test func `no sentences are made while the receiver sends its own`() throws {
    let epoch = try epoch(of: solution)
    let own = Array(nmeaLine("GNRMC,120005.00,A,5200.0,N,01315.0,W,9.7,53.1,231126,,,A").utf8)
    var feed = ReceiverFeed()
    for _ in 0..<3 {
      #expect(feed.bytes(of: received(own, isBinary: false)) == own)
      _ = feed.bytes(of: received(solution, isBinary: true))
      #expect(feed.bytes(of: .epoch(epoch)).isEmpty)
    }
    // When this output is ended, it leaves no gap of more than two epochs.
    let made = (0..<3).map { _ in !feed.bytes(of: .epoch(epoch)).isEmpty }
    #expect(made == [false, true, true])
  }

  @Test func `no sentences are made for a receiver without messages`() throws {
    var feed = ReceiverFeed()
    #expect(feed.bytes(of: .epoch(try epoch(of: solution))).isEmpty)
  }

  private static let receivers: [(String, ReceiverPersonality)] = [("ublox", .ublox8), ("casic", .casic)]

  @Test(arguments: receivers)
  private func `a client of a receiver with a binary protocol can get sentences, hexadecimal or raw messages`(
    _ driver: String, _ personality: ReceiverPersonality
  ) async throws {
    let messages = driver == "ublox" ? #"messages: "ubx","# : ""
    let board = try Board(
      json5: Array(
        """
        { name: "test", devices: { gps: { driver: "\(driver)", port: "\(personality.port)", \(messages)
          power: { switch: "none", lingerSeconds: 0 } } } }
        """.utf8), file: "test")
    let hardware = SimulatedHardware()
    var configuration = CommandedReceiver.Configuration()
    configuration.timeToFirstFixScale = 0.05
    hardware.receiver(personality, configuration: configuration).setPower(true)
    let hub = Hub(board: board, hardware: hardware)
    let host = HubHost(hub, version: "test")
    let outputs = Recorder<ReceiverOutput>()
    let subscription = host.hub.sentences.subscribe(as: "test", receiveValue: { outputs.append($0) })
    func all(_ sentences: Bool, _ raw: Int) -> [UInt8] {
      var feed = ReceiverFeed()
      return outputs.values.flatMap { feed.bytes(of: $0, sentences: sentences, raw: raw) }
    }
    #expect(outputs.waits { _ in text(all(true, 0)).contains("RMC,") })
    // The CASIC receiver also sends sentences of its own.
    if driver == "ublox" {
      #expect(outputs.waits { _ in text(all(true, 0)).contains("$GPGGA,") })
      #expect(outputs.waits { _ in text(all(false, 1)).contains("b5620107") })
      #expect(outputs.waits { _ in all(false, 2).contains([0xB5, 0x62, 0x01, 0x07]) })
      #expect(!text(all(false, 1)).contains("GGA,") && !text(all(false, 2)).contains("b5620107"))
    }
    subscription.cancel()
    hub.shutDown()
    await hub.isOff()
  }
}
