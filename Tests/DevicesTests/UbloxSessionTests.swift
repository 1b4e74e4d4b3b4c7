import Devices
import Guarding
import HardwareIO
import TestSupport
import Testing

/// Sessions with u-blox receivers that accept, refuse or ignore commands.
@Suite(.timeLimit(.minutes(10)))
struct UbloxSessionTests {
  private static func text(_ text: String, _ count: Int) -> [UInt8] {
    Array(text.utf8) + [UInt8](repeating: 0, count: count - text.utf8.count)
  }

  private static func version(_ hardware: String, _ extensions: [String]) -> [UInt8] {
    MadeMessage.ubx(
      0x0A04, text("ROM CORE 3.01", 30) + text(hardware, 10) + extensions.flatMap { text($0, 30) })
  }

  private static let m8 = version("00080000", ["FWVER=SPG 3.01", "PROTVER=18.00", "MOD=NEO-M8N-0"])
  private static let f9 = version("00190000", ["FWVER=HPG 1.32", "PROTVER=27.31", "MOD=ZED-F9P"])
  private static let port9600: [UInt8] = [1, 0, 0, 0, 0xD0, 8, 0, 0, 0x80, 0x25, 0, 0, 7, 0, 3, 0, 0, 0, 0, 0]
  private static let systems: [UInt8] =
    [0, 32, 32, 3] + [0, 8, 16, 0, 1, 0, 1, 1] + [2, 4, 8, 0, 0, 0, 1, 1] + [6, 8, 14, 0, 1, 0, 1, 1]

  private static func kind(_ request: [UInt8]) -> UInt16 {
    request.count > 3 && request[0] == 0xB5 ? UInt16(request[2]) << 8 | UInt16(request[3]) : 0
  }

  private static func acknowledge(_ request: [UInt8]) -> [UInt8] {
    MadeMessage.ubx(0x0501, [request[2], request[3]])
  }

  private static func refuse(_ request: [UInt8]) -> [UInt8] { MadeMessage.ubx(0x0500, [request[2], request[3]]) }

  /// Answers like an M8 that accepts everything.
  private static func answer(_ request: [UInt8]) -> ScriptedReceiver.Reaction {
    let isQuestion = request.count == 8
    switch kind(request) {
    case 0: return .silence
    case 0x0A04: return .says(m8)
    case 0x2703: return .says(MadeMessage.ubx(0x2703, [1, 0, 0, 0, 0xCF, 0xFB, 0x03, 0xD2, 0x59]))
    case 0x0600 where isQuestion: return .says(MadeMessage.ubx(0x0600, port9600) + acknowledge(request))
    case 0x0608 where isQuestion:
      return .says(MadeMessage.ubx(0x0608, [0xE8, 3, 1, 0, 0, 0]) + acknowledge(request))
    case 0x063E where isQuestion: return .says(MadeMessage.ubx(0x063E, systems) + acknowledge(request))
    case 0x0624 where isQuestion:
      return .says(MadeMessage.ubx(0x0624, [0xFF, 0xFF, 0] + [UInt8](repeating: 0, count: 33)) + acknowledge(request))
    case 0x0241: return .fallsAsleep
    default: return .says(acknowledge(request))
    }
  }

  private func configuration(_ change: (inout ReceiverConfiguration) -> Void) -> ReceiverConfiguration {
    var configuration = ReceiverConfiguration(driver: .ublox, speed: .b9600)
    change(&configuration)
    return configuration
  }

  @Test func `the requested settings are sent and acknowledged, without a warning`() async throws {
    let receiver = ScriptedReceiver(reacting: Self.answer)
    let rig = SessionRig(
      configuration {
        $0.settings.rateHz = 5
        $0.settings.dynamicModel = .automotive
        $0.settings.constellations = [.gps, .galileo]
      }, receiver)
    try rig.start()
    #expect(await rig.started.first(1) == [.b9600])
    #expect(rig.warnings.values == [nil])
    let kinds = receiver.requests.values.map(Self.kind)
    #expect(kinds == [0x0A04, 0x2703, 0x063E, 0x063E, 0x0624, 0x0608, 0x0608])
    // The alignment to UTC stays unchanged.
    #expect(receiver.requests.values.last == MadeMessage.ubx(0x0608, [200, 0, 1, 0, 0, 0]))
    #expect(
      receiver.requests.values[3][6...].prefix(28).map { $0 }
        == {
          var wanted = Self.systems
          wanted[4 + 8 + 4] = 1
          wanted[4 + 16 + 4] = 0
          return wanted
        }())
    // Bytes between request and answer are not lost.
    await rig.observations.first(3)
    await rig.finish()
    #expect(rig.ended.values == ["awake"])
    receiver.end()
  }

  @Test func `a refused setting is reported with the next step, and the other settings are applied`() async throws {
    let receiver = ScriptedReceiver { request in
      Self.kind(request) == 0x0624 ? .says(Self.refuse(request)) : Self.answer(request)
    }
    let rig = SessionRig(
      configuration {
        $0.settings.dynamicModel = .bike
        $0.settings.rateHz = 2
      }, receiver)
    try rig.start()
    #expect(await rig.started.first(1) == [.b9600])
    let warning = try #require(rig.warnings.values.first ?? nil)
    #expect(warning.hasPrefix("u-blox NEO-M8N-0, protocol 18.00: it refused dynamicModel: "))
    #expect(!warning.contains("rateHz"))
    #expect(receiver.requests.values.map(Self.kind).last == 0x0608)
    let count = rig.observations.values.count
    await rig.observations.first(count + 2)
    await rig.finish()
    receiver.end()
  }

  @Test(arguments: [true, false])
  func `a receiver that gets corrections must report their use, or may refuse`(
    _ takesAny: Bool
  ) async throws {
    let key = MadeMessage.littleEndian(UInt32(0x2091_0269))
    let receiver = ScriptedReceiver { request in
      if Self.kind(request) == 0x0A04 { return .says(Self.f9) }
      guard Self.kind(request) == 0x068A else { return .silence }
      return .says(request[10..<14].elementsEqual(key) && !takesAny ? Self.refuse(request) : Self.acknowledge(request))
    }
    let rig = SessionRig(
      configuration {
        $0.settings.messages = .ubx
        $0.settings.reportsCorrections = true
      }, receiver)
    try rig.start()
    #expect(await rig.started.first(1) == [.b9600])
    #expect(rig.warnings.values == [nil])
    let asked = receiver.requests.values.filter { $0.count > 14 && $0[10..<14].elementsEqual(key) }
    #expect(asked.count == 1 && asked.first?[14] == 1)
    await rig.finish()
    receiver.end()
  }

  @Test func `a late answer counts for the repeated request`() async throws {
    let asked = Guarded(0)
    let receiver = ScriptedReceiver { request in
      guard Self.kind(request) == 0x0A04 else { return Self.answer(request) }
      let count = asked.withLock { asked in
        asked += 1
        return asked
      }
      return count == 1 ? .saysLate(Self.m8, milliseconds: 1800) : .silence
    }
    let rig = SessionRig(configuration { $0.settings.dynamicModel = .sea }, receiver)
    try rig.start()
    await rig.started.first(1)
    #expect(rig.warnings.values == [nil])
    await rig.finish()
    receiver.end()
  }

  @Test func `a late acknowledgement does not count for the next request of its kind`() async throws {
    let isFirst = Guarded(true)
    let receiver = ScriptedReceiver { request in
      switch Self.kind(request) {
      case 0x0A04: return .says(Self.f9)
      // The dynamic model is requested twice because the first answer is late. Both answers come after the second
      // request.
      case 0x068A where request.dropFirst(10).starts(with: [0x21, 0x00, 0x11, 0x20]):
        let late = isFirst.withLock { isFirst in
          defer { isFirst = false }
          return isFirst
        }
        return late
          ? .saysLate(Self.acknowledge(request), milliseconds: 1800)
          : .saysLate(Self.acknowledge(request), milliseconds: 300)
      case 0x068A: return .says(Self.refuse(request))
      default: return .silence
      }
    }
    let rig = SessionRig(
      configuration {
        $0.settings.dynamicModel = .automotive
        $0.settings.rateHz = 5
      }, receiver)
    try rig.start()
    await rig.started.first(1)
    #expect((rig.warnings.values.last ?? nil)?.contains("it refused rateHz") == true)
    await rig.finish()
    receiver.end()
  }

  @Test(arguments: ["silence", "something else"])
  func `a receiver that does not answer is read as it is, with a warning`(_ answer: String) async throws {
    let receiver = ScriptedReceiver { request in
      answer == "silence" ? .silence : .says(MadeMessage.ubx(0x0501, [0x06, 0x01]))
    }
    let rig = SessionRig(configuration { $0.settings.rateHz = 5 }, receiver)
    try rig.start()
    #expect(await rig.started.first(1) == [.b9600])
    #expect(rig.warnings.values.first??.contains("does not answer 'ublox' commands") == true)
    #expect(receiver.requests.values.allSatisfy { Self.kind($0) == 0x0A04 })
    let count = rig.observations.values.count
    await rig.observations.first(count + 2)
    await rig.finish()
    receiver.end()
  }

  @Test func `a setting that is answered with something else is reported`() async throws {
    let receiver = ScriptedReceiver { request in
      Self.kind(request) == 0x0624 ? .says(MadeMessage.ubx(0x0501, [0x06, 0x01])) : Self.answer(request)
    }
    let rig = SessionRig(configuration { $0.settings.dynamicModel = .sea }, receiver)
    try rig.start()
    await rig.started.first(1)
    #expect(rig.warnings.values.first??.contains("it answered dynamicModel with the result of another command") == true)
    await rig.finish()
    receiver.end()
  }

  @Test func `a hang-up during the configuration ends the run with its error`() async throws {
    let receiver = ScriptedReceiver { request in
      Self.kind(request) == 0x0608 ? .hangsUp : Self.answer(request)
    }
    let rig = SessionRig(configuration { $0.settings.rateHz = 5 }, receiver)
    try rig.start()
    #expect(await rig.ended.first(1) == ["serial port \(receiver.path) has gone away"])
  }

  @Test func `the speed is changed and confirmed`() async throws {
    let receiver = ScriptedReceiver(speed: 9600) { request in
      if Self.kind(request) == 0x0600, request.count == 28 { return .goesTo(115_200, saying: []) }
      return Self.answer(request)
    }
    let rig = SessionRig(configuration { $0.settings.speed = .b115200 }, receiver)
    try rig.start()
    #expect(await rig.started.first(1) == [.b115200])
    #expect(rig.warnings.values == [nil])
    #expect(receiver.requests.values.last.map(Self.kind) == 0x0600)
    await rig.finish()
    receiver.end()
  }

  @Test func `if the receiver does not take a speed, the line keeps the old speed`() async throws {
    let receiver = ScriptedReceiver(speed: 9600) { request in
      if Self.kind(request) == 0x0600, request.count == 28 { return .says(Self.refuse(request)) }
      return Self.answer(request)
    }
    let rig = SessionRig(configuration { $0.settings.speed = .b230400 }, receiver)
    try rig.start()
    #expect(await rig.started.first(1) == [.b9600])
    #expect(rig.warnings.values.first??.contains("it refused setSpeed") == true)
    await rig.finish()
    receiver.end()
  }

  @Test func `a receiver that was left at another speed is found and reported`() async throws {
    let receiver = ScriptedReceiver(speed: 38400, reacting: Self.answer)
    let rig = SessionRig(configuration { $0.settings.dynamicModel = .sea }, receiver)
    try rig.start()
    #expect(await rig.started.first(1) == [.b38400])
    #expect(rig.warnings.values.first??.contains("the receiver was left at 38400") == true)
    await rig.finish()
    receiver.end()
  }

  @Test func `the original settings are restored if requested`() async throws {
    let receiver = ScriptedReceiver(reacting: Self.answer)
    let rig = SessionRig(
      configuration {
        $0.settings.rateHz = 5
        $0.settings.dynamicModel = .automotive
        $0.settings.restores = true
      }, receiver)
    try rig.start()
    await rig.started.first(1)
    await rig.finish()
    #expect(
      receiver.requests.values.suffix(2) == [
        MadeMessage.ubx(0x0608, [0xE8, 3, 1, 0, 0, 0]),
        MadeMessage.ubx(0x0624, [1, 0, 0] + [UInt8](repeating: 0, count: 33)),
      ])
    receiver.end()
  }

  @Test func `keys are tried one by one if the receiver does not know all of them`() async throws {
    let receiver = ScriptedReceiver { request in
      switch Self.kind(request) {
      case 0x0A04: return .says(Self.f9)
      // The receiver refuses every message that contains the key for MON-RF.
      case 0x068A:
        let hasJamming = request.indices.dropLast(3).contains { Array(request[$0..<$0 + 4]) == [0x5A, 3, 0x91, 0x20] }
        return .says(hasJamming ? Self.refuse(request) : Self.acknowledge(request))
      default: return .silence
      }
    }
    let rig = SessionRig(configuration { $0.settings.messages = .ubx }, receiver)
    try rig.start()
    await rig.started.first(1)
    #expect(rig.warnings.values == [nil])
    // There is one request with all keys, then eight for single keys, and one to switch the sentences off.
    #expect(receiver.requests.values.count { Self.kind($0) == 0x068A } == 10)
    await rig.finish()
    receiver.end()
  }

  @Test func `a receiver in backup is silent, and is woken and configured again within about a second`() async throws {
    let receiver = ScriptedReceiver(reacting: Self.answer)
    let rig = SessionRig(
      configuration {
        $0.sleep = .backup
        $0.settings.rateHz = 5
      }, receiver)
    try rig.start()
    await rig.started.first(1)
    await rig.finish()
    #expect(rig.ended.values == ["asleep"] && receiver.isAsleep)
    // The request has the first form: twelve days in backup mode.
    #expect(receiver.requests.values.last == MadeMessage.ubx(0x0241, [0, 0x50, 0xCC, 0x3D, 2, 0, 0, 0]))
    try rig.start()
    #expect(await rig.started.first(2) == [.b9600, .b9600])
    #expect(!receiver.isAsleep)
    #expect(receiver.requests.values.map(Self.kind).suffix(2) == [0x0608, 0x0608])
    let count = rig.observations.values.count
    await rig.observations.first(count + 2)
    await rig.finish()
    receiver.end()
  }

  @Test func `a receiver that continues to send after a sleep command causes a warning`() async throws {
    let receiver = ScriptedReceiver { request in
      Self.kind(request) == 0x0241 ? .silence : Self.answer(request)
    }
    let rig = SessionRig(configuration { $0.sleep = .backup }, receiver)
    try rig.start()
    await rig.started.first(1)
    await rig.finish()
    #expect(rig.ended.values == ["awake"])
    #expect((rig.warnings.values.last ?? nil)?.contains("keeps sending") == true)
    receiver.end()
  }

  @Test func `a receiver that does not wake ends the run, so that its supply is switched off and on`() async throws {
    let receiver = ScriptedReceiver(wakes: false, reacting: Self.answer)
    let rig = SessionRig(
      configuration {
        $0.sleep = .backup
        $0.isSwitched = true
      }, receiver)
    try rig.start()
    await rig.started.first(1)
    await rig.finish()
    try rig.start()
    #expect(await rig.ended.first(2).last?.contains("does not wake") == true)
    receiver.end()
  }
}
