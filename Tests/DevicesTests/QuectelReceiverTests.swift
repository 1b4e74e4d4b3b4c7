import HardwareIO
import NMEA
import TestSupport
import Testing

@testable import Devices

/// Quectel's PQTM commands. The answers are those of an LG290P that others have published.
@Suite(.timeLimit(.minutes(10)))
struct QuectelReceiverTests {
  private static let version = "PQTMVERNO,LG290P03AANR01A03S,2024/04/30,10:53:07"

  private static func text(_ request: [UInt8]) -> String {
    String(decoding: request.dropFirst().prefix { $0 != UInt8(ascii: "*") }, as: UTF8.self)
  }

  private static func says(_ body: String) -> ScriptedReceiver.Reaction { .says(Array(nmeaLine(body).utf8)) }

  private static func lg290p(_ request: [UInt8]) -> ScriptedReceiver.Reaction {
    switch text(request) {
    case "PQTMVERNO": says(version)
    case "PQTMUNIQID": says("PQTMUNIQID,OK,8,0000183B31B3C252")
    case "PQTMCFGCNST,R": says("PQTMCFGCNST,OK,1,1,1,1,1,0")
    case "PQTMCFGFIXRATE,R": says("PQTMCFGFIXRATE,OK,1000")
    case "PQTMCFGNAVMODE,R": says("PQTMCFGNAVMODE,OK,11")
    case "PQTMSRR": .silence
    case "PQTMSAVEPAR": says("PQTMSAVEPAR,OK")
    // The receiver answers unknown commands.
    case let other: says("\(other.prefix { $0 != "," }),\(other.contains(",W,") ? "OK" : "ERROR,3")")
    }
  }

  private func configuration(
    _ driver: ReceiverDriver = .quectel, _ change: (inout ReceiverSettings) -> Void = { _ in }
  ) -> ReceiverConfiguration {
    var settings = ReceiverSettings()
    change(&settings)
    return ReceiverConfiguration(driver: driver, speed: .b460800, settings: settings)
  }

  /// Runs until the receiver is configured.
  private func run(
    _ configuration: ReceiverConfiguration, _ receiver: ScriptedReceiver
  ) async throws -> (requests: [String], identity: ReceiverIdentity?, warning: String?) {
    let rig = SessionRig(configuration, receiver)
    try rig.start()
    await rig.started.first(1)
    await rig.finish()
    receiver.end()
    let requests = receiver.requests.values.map { String(decoding: $0, as: UTF8.self) }
    return (requests, rig.identities.values.last ?? nil, rig.warnings.values.last ?? nil)
  }

  @Test func `a receiver saves the settings that need a restart, and restarts`() async throws {
    let found = try await run(
      configuration {
        $0.messages = .nmea
        $0.constellations = [.gps, .glonass, .galileo, .beidou, .sbas]
        $0.dynamicModel = .automotive
        $0.rateHz = 5
        $0.saves = true
      }, ScriptedReceiver(reacting: Self.lg290p))
    #expect(found.warning == nil)
    #expect(found.identity?.driver == .quectel && found.identity?.uniqueID == "0000183B31B3C252")
    #expect(found.identity?.software == "LG290P03AANR01A03S,2024/04/30,10:53:07")
    // The checksums are from logs and published code.
    #expect(
      found.requests == [
        "$PQTMVERNO*58\r\n", "$PQTMUNIQID*16\r\n", "$PQTMCFGMSGRATE,W,GGA,1*0A\r\n", "$PQTMCFGMSGRATE,W,GSA,1*1E\r\n",
        nmeaLine("PQTMCFGMSGRATE,W,GSV,1"), "$PQTMCFGMSGRATE,W,RMC,1*17\r\n", nmeaLine("PQTMCFGMSGRATE,W,GST,1"),
        nmeaLine("PQTMCFGCNST,R"), "$PQTMCFGCNST,W,1,1,1,1,0,0*2B\r\n", nmeaLine("PQTMCFGNAVMODE,R"),
        nmeaLine("PQTMCFGNAVMODE,W,0"), nmeaLine("PQTMCFGFIXRATE,R"), "$PQTMCFGFIXRATE,W,200*6A\r\n",
        "$PQTMSAVEPAR*5A\r\n", "$PQTMSRR*4B\r\n", "$PQTMVERNO*58\r\n",
      ])
  }

  @Test func `a receiver that has the settings already is not restarted`() async throws {
    let found = try await run(
      configuration {
        $0.constellations = [.gps, .glonass, .galileo, .beidou, .qzss]
        $0.rateHz = 1
        $0.saves = true
      }, ScriptedReceiver(reacting: Self.lg290p))
    #expect(found.warning == nil)
    #expect(
      found.requests.dropFirst(2) == [
        nmeaLine("PQTMCFGCNST,R"), nmeaLine("PQTMCFGFIXRATE,R"), "$PQTMSAVEPAR*5A\r\n",
      ])
  }

  @Test func `a receiver that does not keep a setting is not saved and restarted again, and warns`() async throws {
    let warning =
      "Quectel LG290P03AANR01A03S: rateHz: the receiver accepted and saved it, but did not keep it, and has 1000: "
      + "remove the key, or restart the hub to try again"
    let receiver = ScriptedReceiver(reacting: Self.lg290p)
    let rig = SessionRig(
      configuration {
        $0.rateHz = 5
        $0.saves = true
      }, receiver)
    for count in 1...3 {
      try rig.start()
      await rig.started.first(count)
      await rig.finish()
    }
    receiver.end()
    let requests = receiver.requests.values.map(Self.text)
    #expect(requests.count { $0 == "PQTMCFGFIXRATE,R" } == 3, "\(requests)")
    for once in ["PQTMCFGFIXRATE,W,200", "PQTMSAVEPAR", "PQTMSRR"] {
      #expect(requests.count { $0 == once } == 1, "\(requests)")
    }
    #expect(rig.warnings.values.first != warning && rig.warnings.values.last == warning, "\(rig.warnings.values)")
  }

  @Test func `without saving, nothing is written that a restart would have to apply`() async throws {
    let found = try await run(configuration { $0.rateHz = 10 }, ScriptedReceiver(reacting: Self.lg290p))
    #expect(found.requests.dropFirst(2) == [nmeaLine("PQTMCFGFIXRATE,R")])
    #expect(
      found.warning == "Quectel LG290P03AANR01A03S: rateHz: this receiver must save it and restart, for which the hub "
        + "needs 'saves: true'; it has 1000")
  }

  @Test func `a receiver whose firmware has no GST states its errors in its own sentence`() async throws {
    let receiver = ScriptedReceiver { request in
      Self.text(request) == "PQTMCFGMSGRATE,W,GST,1" ? Self.says("PQTMCFGMSGRATE,ERROR,1") : Self.lg290p(request)
    }
    let found = try await run(configuration { $0.messages = .nmea }, receiver)
    #expect(found.warning == nil)
    #expect(found.requests.last == "$PQTMCFGMSGRATE,W,PQTMEPE,1,2*1D\r\n")
  }

  @Test func `a module with two antennas also states its heading`() async throws {
    let receiver = ScriptedReceiver { request in
      Self.text(request) == "PQTMVERNO"
        ? Self.says("PQTMVERNO,LG580P03AANR01A03S,2024/04/30,10:53:07") : Self.lg290p(request)
    }
    let found = try await run(configuration { $0.messages = .nmea }, receiver)
    #expect(found.requests.contains(nmeaLine("PQTMCFGMSGRATE,W,PQTMTAR,1,1")))
  }

  @Test func `an unknown setting is reported`() async throws {
    let receiver = ScriptedReceiver { request in
      Self.text(request) == "PQTMCFGNAVMODE,R" ? Self.says("PQTMCFGNAVMODE,ERROR,3") : Self.lg290p(request)
    }
    let found = try await run(
      configuration {
        $0.dynamicModel = .automotive
        $0.saves = true
      }, receiver)
    #expect(found.warning?.contains("it refused dynamicModel") == true)
    #expect(!found.requests.contains("$PQTMSRR*4B\r\n"))
  }

  // MARK: Identification

  @Test func `auto does not take a receiver for an Airoha because it answers unknown commands`() async throws {
    let found = try await run(configuration(.auto), ScriptedReceiver(reacting: Self.lg290p))
    #expect(found.identity?.driver == .quectel)
    #expect(found.requests.contains("$PAIR021*39\r\n") && !found.requests.contains("$PAIR002*38\r\n"))
  }

  @Test func `auto asks first as the receiver's own sentences suggest`() async throws {
    let banner = Array("$PQTMVER,1,MODULE,LG290P03AANR01A03S,2024/04/30,10:53:07*32\r\n".utf8)
    let found = try await run(configuration(.auto), ScriptedReceiver(saying: banner, reacting: Self.lg290p))
    #expect(found.requests.first == "$PQTMVERNO*58\r\n" && found.identity?.driver == .quectel)
  }

  @Test(arguments: [ReceiverDriver.auto, .quectel])
  func `Quectel's modules with Airoha's chip get Airoha's commands`(_ driver: ReceiverDriver) async throws {
    let receiver = ScriptedReceiver { request in
      switch Self.text(request) {
      case "PQTMVERNO": return Self.says("PQTMVERNO,LC29HAANR01A04S,2022/11/04,16:39:48")
      case "PAIR021": return Self.says("PAIR021,AG3335A_V2.5.0.AG3335_20220408,S,N")
      case let other:
        return other.hasPrefix("PAIR") ? Self.says("PAIR001,\(other.dropFirst(4).prefix(3)),0") : .silence
      }
    }
    // Their own sentences do not mislead the hub.
    let found = try await run(configuration(driver) { $0.rateHz = 5 }, receiver)
    #expect(found.identity?.driver == .airoha && found.warning == nil)
    #expect(found.requests.last == nmeaLine("PAIR050,200"))
  }

  @Test(arguments: ["PQTMEPE,2,1.000,1.000,1.000,1.414,1.732", "PQTMVERNO,LC29HAANR01A04S,2022/11/04,16:39:48"])
  func `a sentence that Airoha's chips send as well shows no protocol`(_ body: String) {
    var framer = ReceiverFramer()
    var heard: [ReceiverDriver?] = []
    Array(nmeaLine(body).utf8).withUnsafeBufferPointer { bytes in
      framer.push(bytes) { heard.append(ReceiverDriver.speaker(of: $0)) }
    }
    #expect(heard == [nil])
  }
}
