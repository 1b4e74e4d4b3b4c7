import Devices
import Guarding
import HardwareIO
import MonotonicTime
import NMEA
import TestSupport
import Testing

/// Receivers that take commands as sentences, and their identification with the driver `auto`.
@Suite(.timeLimit(.minutes(10)))
struct SentenceFamilyTests {
  private static func text(_ request: [UInt8]) -> String {
    String(decoding: request.prefix { $0 != UInt8(ascii: "*") }, as: UTF8.self)
  }

  private static func says(_ body: String) -> ScriptedReceiver.Reaction { .says(Array(nmeaLine(body).utf8)) }

  private static func mediaTek(_ request: [UInt8]) -> ScriptedReceiver.Reaction {
    let text = text(request)
    if text == "$PMTK605" { return says("PMTK705,AXN_5.1.6_3333_19010218,0007,Quectel-L76L,1.0") }
    if text.hasPrefix("$PMTK161") { return .fallsAsleep }
    guard text.hasPrefix("$PMTK") else { return .silence }
    return says("PMTK001,\(text.dropFirst(5).prefix(3)),3")
  }

  private static func airoha(_ request: [UInt8]) -> ScriptedReceiver.Reaction {
    let text = text(request)
    if text == "$PAIR021" { return says("PAIR021,AG3335M_V2.5.0.AG3335_20220408,S,N") }
    guard text.hasPrefix("$PAIR") else { return .silence }
    let number = text.dropFirst(5).prefix(3)
    // Like a real receiver, it first answers that the command is in progress, then that it is done.
    let working = nmeaLine("PAIR001,\(number),1")
    return .says(Array((working + nmeaLine("PAIR001,\(number),0")).utf8))
  }

  private static func casic(_ request: [UInt8]) -> ScriptedReceiver.Reaction {
    let text = text(request)
    if text == "$PCAS06,0" { return says("GPTXT,01,01,02,SW=URANUS5,V5.1.0.0") }
    if text.hasPrefix("$PCAS12") { return .fallsAsleep }
    guard request.first == 0xBA else { return .silence }
    return .says(MadeMessage.casic(0x0501, [request[4], request[5], 0, 0]))
  }

  private func settings(_ change: (inout ReceiverSettings) -> Void) -> ReceiverSettings {
    var settings = ReceiverSettings()
    change(&settings)
    return settings
  }

  @Test func `a MediaTek receiver is configured, and acknowledges each command`() async throws {
    let receiver = ScriptedReceiver(reacting: Self.mediaTek)
    let configuration = ReceiverConfiguration(
      driver: .mediatek, speed: .b9600,
      settings: settings {
        $0.constellations = [.gps, .glonass, .sbas]
        $0.rateHz = 5
      })
    let rig = SessionRig(configuration, receiver)
    try rig.start()
    await rig.started.first(1)
    #expect(rig.warnings.values == [nil])
    // The bytes are as in the logs of pynmeagps and in published code.
    #expect(
      receiver.requests.values.map { String(decoding: $0, as: UTF8.self) } == [
        "$PMTK605*31\r\n", "$PMTK353,1,1,0,0,0*2B\r\n", "$PMTK313,1*2E\r\n", "$PMTK220,200*2C\r\n",
      ])
    await rig.finish()
    receiver.end()
  }

  @Test(arguments: [0, 1, 2]) func `a flag below 3 is a refusal`(_ flag: Int) async throws {
    let receiver = ScriptedReceiver { request in
      Self.text(request) == "$PMTK220,100" ? Self.says("PMTK001,220,\(flag)") : Self.mediaTek(request)
    }
    let rig = SessionRig(
      ReceiverConfiguration(driver: .mediatek, speed: .b9600, settings: settings { $0.rateHz = 10 }), receiver)
    try rig.start()
    await rig.started.first(1)
    #expect(rig.warnings.values.first??.contains("MediaTek AXN_5.1.6_3333_19010218: it refused rateHz") == true)
    await rig.finish()
    receiver.end()
  }

  @Test func `a byte wakes a MediaTek receiver from standby, and it is configured again`() async throws {
    let receiver = ScriptedReceiver(reacting: Self.mediaTek)
    let rig = SessionRig(
      ReceiverConfiguration(driver: .mediatek, speed: .b9600, settings: settings { $0.rateHz = 2 }, sleep: .standby),
      receiver)
    try rig.start()
    await rig.started.first(1)
    await rig.finish()
    #expect(rig.ended.values == ["asleep"] && receiver.isAsleep)
    try rig.start()
    await rig.started.first(2)
    #expect(receiver.requests.values.last.map(Self.text) == "$PMTK220,500")
    await rig.finish()
    receiver.end()
  }

  @Test func `an Airoha command in progress is not a refusal`() async throws {
    let receiver = ScriptedReceiver(reacting: Self.airoha)
    let rig = SessionRig(
      ReceiverConfiguration(
        driver: .airoha, speed: .b9600,
        settings: settings {
          $0.constellations = [.gps, .galileo, .beidou]
          $0.dynamicModel = .automotive
          $0.rateHz = 1
        }), receiver)
    try rig.start()
    await rig.started.first(1)
    #expect(rig.warnings.values == [nil])
    #expect(
      receiver.requests.values.map { String(decoding: $0, as: UTF8.self) } == [
        "$PAIR021*39\r\n", "$PAIR002*38\r\n", "$PAIR066,1,0,1,1,0,0*3B\r\n", "$PAIR080,0*2E\r\n",
        "$PAIR050,1000*12\r\n",
      ])
    await rig.finish()
    receiver.end()
  }

  @Test func `messages configure a CASIC receiver, and a sentence puts it into standby`() async throws {
    let receiver = ScriptedReceiver(reacting: Self.casic)
    let rig = SessionRig(
      ReceiverConfiguration(
        driver: .casic, speed: .b9600,
        settings: settings {
          $0.constellations = [.gps, .beidou]
          $0.dynamicModel = .sea
          $0.rateHz = 5
        }, sleep: .standby, isSwitched: true), receiver)
    try rig.start()
    await rig.started.first(1)
    #expect(rig.warnings.values == [nil])
    var systems = [UInt8](repeating: 0, count: 44)
    (systems[1], systems[13]) = (1, 3)
    var model = [UInt8](repeating: 0, count: 44)
    (model[0], model[4]) = (1, 4)
    #expect(
      Array(receiver.requests.values.dropFirst()) == [
        MadeMessage.casic(0x0607, systems), MadeMessage.casic(0x0607, model),
        MadeMessage.casic(0x0604, [200, 0, 0, 0]),
      ])
    await rig.finish()
    #expect(rig.ended.values == ["asleep"])
    #expect(receiver.requests.values.last.map(Self.text) == "$PCAS12,65535")
    receiver.end()
  }

  @Test func `auto identifies the receiver, and first asks in the protocol that was heard`() async throws {
    let heard = Array(nmeaLine("PMTK011,MTKGPS").utf8)
    let receiver = ScriptedReceiver(saying: heard, reacting: Self.mediaTek)
    let rig = SessionRig(
      ReceiverConfiguration(driver: .auto, speed: .b9600, settings: settings { $0.rateHz = 5 }), receiver)
    try rig.start()
    await rig.started.first(1)
    #expect(rig.warnings.values == [nil])
    #expect(receiver.requests.values.map(Self.text) == ["$PMTK605", "$PMTK220,200"])
    await rig.finish()
    receiver.end()
  }

  @Test func `without a hint, auto asks in one protocol after the other`() async throws {
    let receiver = ScriptedReceiver(reacting: Self.airoha)
    let rig = SessionRig(
      ReceiverConfiguration(
        driver: .auto, speed: .b9600,
        settings: settings {
          $0.rateHz = 5
          $0.restores = true
        }), receiver)
    try rig.start()
    await rig.started.first(1)
    #expect(
      receiver.requests.values.map(Self.text) == ["$PCAS06,0", "$PAIR021", "$PAIR002", "$PAIR050,200"])
    // The missing feature is named.
    #expect(rig.warnings.values.first??.contains("restores: this receiver has no such setting") == true)
    await rig.finish()
    receiver.end()
  }

  @Test func `a receiver that does not answer is read, without a warning if nothing is requested`() async throws {
    let receiver = ScriptedReceiver { _ in .silence }
    let rig = SessionRig(ReceiverConfiguration(driver: .auto, speed: .b9600), receiver)
    try rig.start()
    #expect(await rig.started.first(1) == [.b9600])
    #expect(rig.warnings.values.isEmpty)
    await rig.finish()
    receiver.end()
  }

  // MARK: Known receivers

  private func auto(_ change: (inout ReceiverConfiguration) -> Void = { _ in }) -> ReceiverConfiguration {
    var configuration = ReceiverConfiguration(driver: .auto, speed: .b9600, settings: settings { $0.rateHz = 5 })
    change(&configuration)
    return configuration
  }

  /// Returns the requests to the receiver in a visit.
  private func visit(_ rig: SessionRig) async throws -> [String] {
    let (before, count) = (rig.receiver.requests.values.count, rig.started.values.count)
    try rig.start()
    await rig.started.first(count + 1)
    await rig.finish()
    return rig.receiver.requests.values.dropFirst(before).map(Self.text)
  }

  @Test func `a receiver that has answered auto once is asked only in the same protocol`() async throws {
    let receiver = ScriptedReceiver(reacting: Self.airoha)
    let rig = SessionRig(auto(), receiver)
    #expect(try await visit(rig) == ["$PCAS06,0", "$PAIR021", "$PAIR002", "$PAIR050,200"])
    for _ in 0..<2 { #expect(try await visit(rig) == ["$PAIR021", "$PAIR002", "$PAIR050,200"]) }
    #expect(rig.identities.values.map { $0?.driver } == [.airoha, .airoha, .airoha])
    receiver.end()
  }

  @Test func `a receiver that does not answer as before is identified again`() async throws {
    let isOther = Guarded(false)
    let receiver = ScriptedReceiver { isOther.withLock { $0 } ? Self.mediaTek($0) : Self.airoha($0) }
    let rig = SessionRig(auto(), receiver)
    #expect(try await visit(rig).last == "$PAIR050,200")
    isOther.withLock { $0 = true }
    let asked = try await visit(rig)
    #expect(asked.first == "$PAIR021" && asked.suffix(2) == ["$PMTK605", "$PMTK220,200"])
    #expect(rig.identities.values.map { $0?.driver } == [.airoha, .mediatek])
    #expect(try await visit(rig) == ["$PMTK605", "$PMTK220,200"])
    receiver.end()
  }

  @Test func `a receiver that was replaced by another one is soon asked in all protocols`() async throws {
    let isOther = Guarded(false)
    let receiver = ScriptedReceiver { request in
      guard isOther.withLock({ $0 }) else { return Self.airoha(request) }
      // The receiver answers an unknown command with its identity, as after each start.
      return Self.text(request).hasPrefix("$PMTK") ? Self.mediaTek(request) : Self.says("PMTK011,MTKGPS")
    }
    let rig = SessionRig(auto(), receiver)
    #expect(try await visit(rig).last == "$PAIR050,200")
    isOther.withLock { $0 = true }
    // The known protocol is tried once, and then all protocols.
    #expect(try await visit(rig).prefix(2) == ["$PAIR021", "$PCAS06,0"])
    #expect(rig.identities.values.last??.driver == .mediatek)
    receiver.end()
  }

  @Test func `the memory of a receiver does not apply to another device at its port`() async throws {
    let first = ScriptedReceiver(reacting: Self.airoha)
    let rig = SessionRig(auto(), first)
    #expect(try await visit(rig).first == "$PCAS06,0")
    let second = ScriptedReceiver(reacting: Self.airoha)
    rig.receiver = second
    #expect(try await visit(rig) == ["$PCAS06,0", "$PAIR021", "$PAIR002", "$PAIR050,200"])
    #expect(rig.identities.values.map { $0?.driver } == [.airoha, nil, .airoha])
    first.end()
    second.end()
  }

  @Test func `a very short run of a known receiver ends with a sleep command in its protocol`() async throws {
    let receiver = ScriptedReceiver(reacting: Self.mediaTek)
    let rig = SessionRig(auto { $0.sleep = .standby }, receiver)
    #expect(try await visit(rig).last == "$PMTK161,0")
    // The run is told to stop before it has begun.
    let before = receiver.requests.values.count
    try rig.start()
    await rig.finish()
    #expect(rig.ended.values == ["asleep", "asleep"])
    #expect(receiver.requests.values.dropFirst(before).map(Self.text).allSatisfy { $0.hasPrefix("$PMTK") })
    receiver.end()
  }

  // MARK: Restarts

  @Test func `a receiver that the inertial sensors contradict gets one hot restart`() async throws {
    let receiver = ScriptedReceiver(reacting: Self.mediaTek)
    let rig = SessionRig(
      ReceiverConfiguration(driver: .mediatek, speed: .b9600, settings: settings { $0.rateHz = 5 }), receiver)
    try rig.start()
    await rig.started.first(1)
    rig.receiverHealth.note(true, at: receiver.clock.now)
    await receiver.requests.values { $0.contains { Self.text($0) == "$PMTK101" } }
    // The receiver is identified and configured again, because it may have lost its settings.
    await receiver.requests.values { $0.count { Self.text($0) == "$PMTK220,200" } == 2 }
    rig.receiverHealth.note(true, at: receiver.clock.now)
    let count = rig.observations.values.count
    await rig.observations.first(count + 5)
    #expect(
      receiver.requests.values.map(Self.text) == [
        "$PMTK605", "$PMTK220,200", "$PMTK101", "$PMTK605", "$PMTK220,200",
      ])
    #expect(
      rig.restarts.values == [
        "it repeats one position while the inertial sensors move: the hub restarts it, hot (attempt 1)"
      ])
    await rig.finish()
    #expect(rig.ended.values == ["awake"])
    receiver.end()
  }
}
