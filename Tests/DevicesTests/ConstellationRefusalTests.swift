import Devices
import Guarding
import HardwareIO
import TestSupport
import Testing

/// A receiver that refuses constellations causes one warning with the next step, and keeps its settings.
@Suite(.timeLimit(.minutes(10)))
struct ConstellationRefusalTests {
  private static func text(_ text: String, _ count: Int) -> [UInt8] {
    Array(text.utf8) + [UInt8](repeating: 0, count: count - text.utf8.count)
  }

  private static func version(_ hardware: String, _ extensions: [String]) -> [UInt8] {
    MadeMessage.ubx(0x0A04, text("ROM CORE", 30) + text(hardware, 10) + extensions.flatMap { text($0, 30) })
  }

  private static func kind(_ request: [UInt8]) -> UInt16 { UInt16(request[2]) << 8 | UInt16(request[3]) }
  private static func accept(_ request: [UInt8]) -> [UInt8] { MadeMessage.ubx(0x0501, [request[2], request[3]]) }
  private static func refuse(_ request: [UInt8]) -> [UInt8] { MadeMessage.ubx(0x0500, [request[2], request[3]]) }

  private static func sentence(_ request: [UInt8]) -> String {
    String(decoding: request.prefix { $0 != UInt8(ascii: "*") }, as: UTF8.self)
  }

  private static func says(_ body: String) -> ScriptedReceiver.Reaction { .says(Array(nmeaLine(body).utf8)) }

  /// Returns the warning at the end of the run.
  private func warning(
    _ driver: ReceiverDriver, _ constellations: [ReceiverSettings.Constellation], _ receiver: ScriptedReceiver
  ) async throws -> String? {
    var configuration = ReceiverConfiguration(driver: driver, speed: .b9600)
    configuration.settings.constellations = constellations
    let rig = SessionRig(configuration, receiver)
    try rig.start()
    await rig.started.first(1)
    // The receiver's output is read anyway.
    let count = rig.observations.values.count
    await rig.observations.first(count + 2)
    await rig.finish()
    receiver.end()
    #expect(rig.warnings.values.count == 1)
    return rig.warnings.values.first ?? nil
  }

  private static let advice = "it refused constellations: set fewer; many receivers support at most three at once"

  @Test func `the constellations of an M8 are set by one message`() async throws {
    let systems: [UInt8] = [0, 32, 32, 2] + [0, 8, 16, 0, 1, 0, 1, 1] + [6, 8, 14, 0, 1, 0, 1, 1]
    let receiver = ScriptedReceiver { request in
      guard request.first == 0xB5 else { return .silence }
      switch Self.kind(request) {
      case 0x0A04: return .says(Self.version("00080000", ["PROTVER=18.00", "MOD=NEO-M8N-0"]))
      case 0x063E where request.count == 8: return .says(MadeMessage.ubx(0x063E, systems) + Self.accept(request))
      default: return .says(Self.refuse(request))
      }
    }
    #expect(try await warning(.ublox, [.gps], receiver) == "u-blox NEO-M8N-0, protocol 18.00: \(Self.advice)")
  }

  @Test func `an M10 gets back its constellations if it refuses the requested ones`() async throws {
    /// A receiver with SBAS on that rejects BeiDou, whichever other system is off.
    let isSBASOn = Guarded(true)
    let (sbas, beidou): ([UInt8], [UInt8]) = ([0x20, 0, 0x31, 0x10], [0x22, 0, 0x31, 0x10])
    let receiver = ScriptedReceiver { request in
      guard request.first == 0xB5 else { return .silence }
      let payload = Array(request[6..<(request.count - 2)])
      func value(_ key: [UInt8]) -> UInt8? {
        payload.indices.dropLast(4).first { Array(payload[$0..<($0 + 4)]) == key }.map { payload[$0 + 4] }
      }
      switch Self.kind(request) {
      case 0x0A04: return .says(Self.version("000A0000", ["PROTVER=34.10", "MOD=MAX-M10S"]))
      case 0x068B where payload.suffix(4).elementsEqual(sbas):
        let value: UInt8 = isSBASOn.withLock { $0 } ? 1 : 0
        return .says(MadeMessage.ubx(0x068B, [1, 0, 0, 0] + sbas + [value]) + Self.accept(request))
      case 0x068A where value(beidou) != 1:
        if let value = value(sbas) { isSBASOn.withLock { $0 = value == 1 } }
        return .says(Self.accept(request))
      default: return .says(Self.refuse(request))
      }
    }
    let wanted: [ReceiverSettings.Constellation] = [.gps, .galileo, .glonass, .beidou]
    #expect(try await warning(.ublox, wanted, receiver) == "u-blox MAX-M10S, protocol 34.10: \(Self.advice)")
    #expect(isSBASOn.withLock { $0 })
  }

  @Test func `a refused constellation of a MediaTek receiver is reported`() async throws {
    let receiver = ScriptedReceiver { request in
      Self.sentence(request) == "$PMTK605"
        ? Self.says("PMTK705,AXN_5.1.6_3333,0007,L76,1.0") : Self.says("PMTK001,353,2")
    }
    #expect(
      try await warning(.mediatek, [.gps, .glonass, .beidou], receiver) == "MediaTek AXN_5.1.6_3333: \(Self.advice)")
  }

  @Test func `a refused constellation of an Airoha receiver is reported`() async throws {
    let receiver = ScriptedReceiver { request in
      switch Self.sentence(request).prefix(8) {
      case "$PAIR021": Self.says("PAIR021,AG3335M_V2.5.0,S,N")
      case "$PAIR066": Self.says("PAIR001,066,2")
      default: Self.says("PAIR001,\(Self.sentence(request).dropFirst(5).prefix(3)),0")
      }
    }
    #expect(try await warning(.airoha, [.gps, .beidou], receiver) == "Airoha AG3335M_V2.5.0: \(Self.advice)")
  }

  @Test func `a refused or missing constellation of a CASIC receiver is reported`() async throws {
    let react: @Sendable ([UInt8]) -> ScriptedReceiver.Reaction = { request in
      if Self.sentence(request) == "$PCAS06,0" { return Self.says("GPTXT,01,01,02,SW=URANUS5,V5.1.0.0") }
      return request.first == 0xBA
        ? .says(MadeMessage.casic(0x0500, [request[4], request[5], 0, 0])) : .silence
    }
    #expect(
      try await warning(.casic, [.gps, .glonass], ScriptedReceiver(reacting: react))
        == "CASIC URANUS5,V5.1.0.0: \(Self.advice)")
    let other = ScriptedReceiver(reacting: react)
    #expect(
      try await warning(.casic, [.gps, .galileo, .sbas], other)
        == "CASIC URANUS5,V5.1.0.0: constellations: this receiver has no galileo, sbas: remove it")
    #expect(!other.requests.values.contains { $0.first == 0xBA })
  }
}
