import Guarding
import HardwareIO
import MonotonicTime
import NMEA
import TestSupport
import Testing

@testable import Devices

/// The bytes that are sent to a receiver without a battery before its supply goes off and after it has come on.
@Suite(.timeLimit(.minutes(10)))
struct KeptKnowledgeSessionTests {
  /// A store of receiver knowledge on the host.
  private final class Shelf: Sendable {
    let knowledge: Guarded<ReceiverKnowledge?>

    init(_ knowledge: ReceiverKnowledge? = nil) { self.knowledge = Guarded(knowledge) }

    var keeping: KnowledgeKeeping {
      KnowledgeKeeping(
        present: { self.knowledge.withLock { $0 } }, keep: { new in self.knowledge.withLock { $0 = new } },
        time: { nil })
    }
  }

  private static func text(_ text: String, _ count: Int) -> [UInt8] {
    Array(text.utf8) + [UInt8](repeating: 0, count: count - text.utf8.count)
  }

  private static func version(_ software: String) -> [UInt8] {
    MadeMessage.ubx(
      0x0A04, text(software, 30) + text("00080000", 10) + text("PROTVER=18.00", 30) + text("MOD=NEO-M8N-0", 30))
  }

  private static let name = "u-blox NEO-M8N-0, protocol 18.00"
  private static let uniqueID: [UInt8] = [0x0A, 0xFB, 0x03, 0xD2, 0x59]
  private static let database = (1...3).map { [UInt8](repeating: $0, count: 40) }

  private static func kind(_ request: [UInt8]) -> UInt16 {
    request.count > 3 && request[0] == 0xB5 ? UInt16(request[2]) << 8 | UInt16(request[3]) : 0
  }

  /// The receiver's answer MGA-ACK.
  private static func acknowledgement(isUsed: Bool = true) -> [UInt8] {
    MadeMessage.ubx(0x1360, [isUsed ? 1 : 0, 0, isUsed ? 0 : 4, 0x80, 0, 0, 0, 0])
  }

  /// Answers requests like an M8.
  private static func answer(_ request: [UInt8], software: String = "ROM CORE 3.01") -> ScriptedReceiver.Reaction {
    switch kind(request) {
    case 0x0A04: .says(version(software))
    case 0x2703: .says(MadeMessage.ubx(0x2703, [1, 0, 0, 0] + uniqueID))
    case 0x0623: .says(MadeMessage.ubx(0x0501, [0x06, 0x23]))
    case 0x0914: .says(MadeMessage.ubx(0x0914, [2, 0, 0, 0, 1, 0, 0, 0]))
    case 0x1380 where request.count == 8:
      .says(database.flatMap { MadeMessage.ubx(0x1380, $0) } + acknowledgement())
    case 0x1380: .says(acknowledgement())
    default: .silence
    }
  }

  private static let configuration: ReceiverConfiguration = {
    var configuration = ReceiverConfiguration(driver: .ublox, speed: .b9600, isSwitched: true)
    configuration.hasBackupBattery = false
    return configuration
  }()

  /// Runs until there has been a fix; returns the bytes sent after the requests for the receiver's identity.
  private func run(_ receiver: ScriptedReceiver, _ shelf: Shelf) async throws -> (said: [[UInt8]], warning: String?) {
    let rig = SessionRig(Self.configuration, receiver, keeping: shelf.keeping)
    try rig.start()
    await rig.started.first(1)
    let count = rig.observations.values.count
    await rig.observations.first(count + 3)
    await rig.finish()
    #expect(rig.ended.values == ["awake"])
    let asked = receiver.requests.values.prefix(2).map(Self.kind)
    #expect(asked == [0x0A04, 0x2703])
    return (Array(receiver.requests.values.dropFirst(2)), rig.warnings.values.last ?? nil)
  }

  @Test func `the hub asks a receiver without a flash for its data, and stores it`() async throws {
    let receiver = ScriptedReceiver { Self.answer($0) }
    let shelf = Shelf()
    let (said, warning) = try await run(receiver, shelf)
    #expect(said.map(Self.kind) == [0x0623, 0x1380])
    #expect(said.last == MadeMessage.ubx(0x1380, []))
    let kept = try #require(shelf.knowledge.withLock { $0 })
    #expect(kept.receiver == Self.name && kept.database == Self.database && !kept.isInFlash)
    #expect(kept.uniqueID == "0AFB03D259")
    #expect(abs(kept.place.latitudeDegrees - 52.51667) < 1e-4 && kept.savedAt == nil)
    #expect(warning == nil)
    receiver.end()
  }

  @Test func `a receiver with a flash is stopped and keeps its data itself`() async throws {
    let receiver = ScriptedReceiver { Self.answer($0, software: "EXT CORE 3.01 (107900)") }
    let shelf = Shelf()
    let (said, warning) = try await run(receiver, shelf)
    #expect(
      said == [MadeMessage.ubx(0x0604, [0, 0, 8, 0]), MadeMessage.ubx(0x0914, [0, 0, 0, 0])])
    #expect(shelf.knowledge.withLock { $0?.isInFlash } == true)
    #expect(warning == nil)
    receiver.end()
  }

  @Test(arguments: [("ROM CORE 3.01", false), ("EXT CORE 3.01 (107900)", true)])
  func `if the supply stays on, the next run starts the receiver if it was stopped, and otherwise identifies it`(
    _ software: String, _ isStopped: Bool
  ) async throws {
    let receiver = ScriptedReceiver { Self.answer($0, software: software) }
    let rig = SessionRig(Self.configuration, receiver, keeping: Shelf().keeping)
    var countBefore = 0
    for run in 1...2 {
      countBefore = receiver.requests.values.count
      try rig.start()
      await rig.started.first(run)
      let count = rig.observations.values.count
      await rig.observations.first(count + 3)
      await rig.finish()
    }
    let said = receiver.requests.values.dropFirst(countBefore)
    #expect(said.contains(MadeMessage.ubx(0x0604, [0, 0, 9, 0])) == isStopped)
    #expect(said.contains { Self.kind($0) == 0x0A04 } != isStopped)
    receiver.end()
  }

  @Test func `a refused setting is still reported after a run that did not configure the stopped receiver again`()
    async throws
  {
    let receiver = ScriptedReceiver { request in
      Self.kind(request) == 0x0624
        ? .says(MadeMessage.ubx(0x0500, [0x06, 0x24])) : Self.answer(request, software: "EXT CORE 3.01 (107900)")
    }
    var configuration = Self.configuration
    configuration.settings.dynamicModel = .bike
    let rig = SessionRig(configuration, receiver, keeping: Shelf().keeping)
    for run in 1...2 {
      try rig.start()
      await rig.started.first(run)
      let count = rig.observations.values.count
      await rig.observations.first(count + 3)
      await rig.finish()
    }
    #expect(receiver.requests.values.count { Self.kind($0) == 0x0624 } == 1)
    let warning = try #require(rig.warnings.values.last ?? nil)
    #expect(warning.contains("it refused dynamicModel"), "\(warning)")
    receiver.end()
  }

  @Test func `a receiver that does not answer delays the end of its supply by at most two seconds`() async throws {
    // The receiver's clock advances while a busy machine delays the session, so the shortest of several ends is the
    // session's own.
    var shortest = Duration.seconds(3600)
    for _ in 0..<5 where shortest >= .seconds(3) {
      let receiver = ScriptedReceiver { request in
        Self.kind(request) == 0x0A04 ? Self.answer(request) : .silence
      }
      let shelf = Shelf()
      let rig = SessionRig(Self.configuration, receiver, keeping: shelf.keeping)
      try rig.start()
      await rig.started.first(1)
      await rig.observations.first(rig.observations.values.count + 3)
      let before = receiver.clock.now
      await rig.finish()
      shortest = min(shortest, receiver.clock.now - before)
      #expect((rig.warnings.values.last ?? nil)?.contains("did not report its satellite data") == true)
      // The position is stored anyway.
      #expect(shelf.knowledge.withLock { $0?.database } == [])
      receiver.end()
    }
    #expect(shortest < .seconds(3))
  }

  /// Knowledge as it would have been stored an hour ago.
  private func knowledge(_ clock: ManualClock, ago age: Duration = .seconds(3600)) -> ReceiverKnowledge {
    ReceiverKnowledge(
      receiver: Self.name, savedAt: nil, savedAtInstant: clock.now + (.zero - age),
      place: .init(latitudeDegrees: 48, longitudeDegrees: 11, altitudeHAEMetres: 500, sigmaMetres: 10),
      database: Self.database)
  }

  @Test func `all data is sent back once, with a larger uncertainty and no unknown time`() async throws {
    let receiver = ScriptedReceiver { Self.answer($0) }
    let shelf = Shelf(knowledge(receiver.clock))
    let rig = SessionRig(Self.configuration, receiver, keeping: shelf.keeping)
    for run in 1...2 {
      try rig.start()
      await rig.started.first(run)
      await rig.finish()
    }
    let said = receiver.requests.values.filter { Self.kind($0) >> 8 == 0x13 }
    let place = try #require(said.first)
    #expect(Self.kind(place) == 0x1340 && place[6] == 0x01)
    #expect(Array(place[10..<18]) == [0x00, 0x38, 0x9C, 0x1C, 0x80, 0x77, 0x8E, 0x06])
    let centimetres = place[22..<26].reversed().reduce(0) { $0 << 8 | Int($1) }
    #expect((7_200_000...7_300_000).contains(centimetres))
    #expect(Array(said[1...3]) == Self.database.map { MadeMessage.ubx(0x1380, $0) })
    #expect(said.dropFirst(4).allSatisfy { $0.count == 8 })
    receiver.end()
  }

  @Test(arguments: [("0AFB03D259", true), ("0AFB03D25A", false), (nil, true)])
  func `a receiver does not get the data of another receiver`(_ uniqueID: String?, _ isGiven: Bool) async throws {
    let receiver = ScriptedReceiver { Self.answer($0) }
    var kept = knowledge(receiver.clock)
    kept.uniqueID = uniqueID
    let (said, _) = try await run(receiver, Shelf(kept))
    #expect(said.contains { Self.kind($0) == 0x1380 && $0.count > 8 } == isGiven)
    #expect(said.contains { Self.kind($0) == 0x1340 } == isGiven)
    receiver.end()
  }

  @Test func `data older than four hours is not sent back`() async throws {
    let receiver = ScriptedReceiver { Self.answer($0) }
    let shelf = Shelf(knowledge(receiver.clock, ago: .seconds(5 * 3600)))
    let (said, _) = try await run(receiver, shelf)
    #expect(said.map(Self.kind) == [0x0623, 0x1380])
    receiver.end()
  }

  @Test func `a receiver that refuses its data causes a warning`() async throws {
    let receiver = ScriptedReceiver { request in
      Self.kind(request) == 0x1380 && request.count > 8
        ? .says(Self.acknowledgement(isUsed: false)) : Self.answer(request)
    }
    let shelf = Shelf(knowledge(receiver.clock))
    let (_, warning) = try await run(receiver, shelf)
    #expect(warning?.contains("refused the satellite data") == true)
    receiver.end()
  }
}
