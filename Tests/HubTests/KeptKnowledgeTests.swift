import HardwareIO
import MonotonicTime
import NMEA
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Devices
@testable import Hub

/// Receivers without a backup battery, whose supply is switched off between two visits.
@Suite(.timeLimit(.minutes(10)))
struct KeptKnowledgeTests {
  private struct Case: CustomTestStringConvertible, Sendable {
    var driver: String
    var personality: ReceiverPersonality
    /// The kind of start after the receiver got its knowledge back.
    var start: ReceiverStart
    /// The commands that transfer the knowledge to the receiver.
    var commands: [CommandName]

    var testDescription: String { personality.rawValue }
  }

  private static let time = CommandName.binary(0x13, 0x40)
  private static let database = CommandName.binary(0x13, 0x80)
  private static let backup = CommandName.binary(0x09, 0x14)

  private static let cases = [
    Case(driver: "ublox", personality: .ublox8, start: .aided, commands: [backup, time]),
    Case(driver: "auto", personality: .ublox9, start: .aided, commands: [backup, time]),
    Case(driver: "ublox", personality: .ublox10, start: .aided, commands: [database, time]),
    Case(driver: "mediatek", personality: .mediatek, start: .warm, commands: [.text("PMTK741")]),
    Case(driver: "casic", personality: .casic, start: .warm, commands: [.binary(0x0B, 0x01)]),
  ]

  private let clock: SteppedClock
  private let hardware: SimulatedHardware

  init() { self.init(clock: SteppedClock()) }

  private init(clock: SteppedClock) {
    self.clock = clock
    hardware = SimulatedHardware(clock: clock)
  }

  /// The receiver has been used at this place, so its first start is a quick one.
  private func receiver(_ personality: ReceiverPersonality) -> Simulation.CommandedReceiver {
    var configuration = Simulation.CommandedReceiver.Configuration()
    configuration.hasBackupSupply = false
    configuration.wasUsedBefore = true
    configuration.startUTCNanoseconds = clock.systemTime()
    return hardware.receiver(personality, configuration: configuration)
  }

  private func hub(_ driver: String, _ personality: ReceiverPersonality, battery: Bool? = false) throws -> Hub {
    let key = battery.map { ", backupBattery: \($0)" } ?? ""
    let text = """
      { name: "test", devices: { gps: { driver: "\(driver)", port: "\(personality.port)",
        power: { switch: "gpio", chip: "simulated", line: "\(personality.powerLine)", lingerSeconds: 0\(key) } } } }
      """
    let machine = Machine(hardware: hardware, clock: clock, systemTime: clock.systemTime)
    return Hub(board: try Board(json5: Array(text.utf8), file: "test"), on: machine)
  }

  /// Keeps the receiver awake until a condition holds; the power is off afterwards.
  private func visit(_ hub: Hub, until isEnough: ([GNSSObservation]) -> Bool) async throws {
    let epochs = Recorder<GNSSObservation>()
    let subscription = hub.epochs(of: "gps").subscribe(as: "test", receiveValue: { epochs.append($0) })
    #expect(epochs.waits { isEnough($0) }, "\(hub.devices)")
    subscription.cancel()
    #expect(hub.monitors[0].changes.waits { $0.power == .off }, "\(hub.devices)")
  }

  private func knowsTime(_ epochs: [GNSSObservation]) -> Bool { epochs.contains(where: \.isTimeConfirmed) }

  @Test(arguments: Self.cases)
  private func `a receiver gets its stored knowledge back, and does not start cold`(_ its: Case) async throws {
    let receiver = receiver(its.personality)
    let hub = try hub(its.driver, its.personality)
    // With `auto`, a fix may come before the driver has asked the receiver for its identity, so wait for later epochs.
    var countWhenAsked: Int?
    try await visit(hub) { epochs in
      guard its.driver == "auto" else { return knowsTime(epochs) }
      if countWhenAsked == nil, receiver.commands.contains(.binary(0x0A, 0x04)) { countWhenAsked = epochs.count }
      return countWhenAsked.map { epochs.count > $0 + 5 && knowsTime(epochs) } ?? false
    }
    #expect(!hardware.powerLines.level(its.personality.powerLine))
    #expect(hub.devices[0].warning == nil, "\(hub.devices[0].warning ?? "")")
    let before = receiver.starts.count
    try await visit(hub) { _ in receiver.starts.count > before && receiver.starts.last?.kind == its.start }
    #expect(!hardware.powerLines.level(its.personality.powerLine))
    #expect(its.commands.allSatisfy(receiver.commands.contains), "\(receiver.commands)")
    #expect(hub.devices[0].warning == nil, "\(hub.devices[0].warning ?? "")")
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `a receiver with a battery is neither asked for its knowledge nor given any`() async throws {
    let receiver = receiver(.ublox10)
    let hub = try hub("ublox", .ublox10, battery: nil)
    for _ in 1...2 { try await visit(hub) { !$0.isEmpty } }
    #expect(!receiver.commands.contains(Self.database) && !receiver.commands.contains(Self.time))
    hub.shutDown()
    await hub.isOff()
  }

  @Test(arguments: [true, false])
  func `a receiver that refuses knowledge or does not answer starts cold, with one warning`(_ refuses: Bool)
    async throws
  {
    let receiver = receiver(.ublox10)
    receiver.setFaults { faults in
      if refuses { faults.refused = [Self.database] } else { faults.ignored = [Self.database] }
    }
    let hub = try hub("ublox", .ublox10)
    let warnings = Recorder<String>()
    let lifetime = Lifetime()
    try #require(hub.receiver).monitor.changes.subscribe(
      as: "test",
      receiveValue: { status in
        if let warning = status.warning, warnings.values.last != warning { warnings.append(warning) }
      }
    ).store(in: lifetime)
    try await visit(hub, until: knowsTime)
    #expect(!hardware.powerLines.level(ReceiverPersonality.ublox10.powerLine))
    let before = receiver.starts.count
    try await visit(hub) { !$0.isEmpty && receiver.starts.count > before && receiver.commands.contains(Self.time) }
    #expect(receiver.starts.last?.kind == .cold)
    #expect(!hardware.powerLines.level(ReceiverPersonality.ublox10.powerLine))
    #expect(warnings.values.count == 1, "\(warnings.values)")
    #expect(warnings.values.first?.contains("starts cold") == true, "\(warnings.values)")
    lifetime.end()
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `a receiver is identified again even if its supply was off for less than a tick of the clock`()
    async throws
  {
    try await KeptKnowledgeTests(clock: SteppedClock(tick: .milliseconds(100))).visitThreeTimes()
  }

  private func visitThreeTimes() async throws {
    let receiver = receiver(.ublox10)
    let hub = try hub("ublox", .ublox10)
    for count in 1...3 {
      try await visit(hub) { epochs in
        receiver.commands.count { $0 == .binary(0x0A, 0x04) } == count
          && epochs.contains { $0.fix.mode >= .twoDimensional }
      }
    }
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `a second receiver in the same place does not get the first one's satellite data`() async throws {
    let receiver = receiver(.ublox10)
    let hub = try hub("ublox", .ublox10)
    try await visit(hub, until: knowsTime)
    let store = hub.machine.receiverKnowledge
    var kept = try #require(store.knowledge(of: "gps"))
    #expect(kept.uniqueID == "CFFB03D2592C")
    #expect(hub.receiver?.monitor.usageHistory.uniqueID == "CFFB03D2592C")
    // Another receiver of the same type differs only in its unique ID.
    kept.uniqueID = "CFFB03D2592D"
    store.keep(kept, of: "gps")
    try await visit(hub) { $0.count > 2 }
    #expect(!receiver.commands.contains(Self.time), "\(receiver.commands)")
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `if there are too many receivers, the oldest knowledge is dropped`() {
    let store = ReceiverKnowledgeStore()
    let count = ReceiverKnowledgeStore.mostReceivers
    func knowledge(_ age: Int64) -> ReceiverKnowledge { self.knowledge(ago: .seconds(age)) }
    store.restore(Dictionary(uniqueKeysWithValues: (1...count).map { ("old \($0)", knowledge(Int64($0))) }))
    // The hub does not know the time, but newly saved knowledge still counts as newer.
    var own = knowledge(0)
    (own.savedAt, own.savedAtInstant) = (nil, MonotonicClock().now)
    store.keep(own, of: "new")
    #expect(store.knowledge(of: "new") == own && store.knowledge(of: "old 1") != nil)
    #expect(store.knowledge(of: "old \(count)") == nil && store.present.value.count == count)
    // Knowledge of a known receiver replaces its own and not another's.
    store.keep(own, of: "old 1")
    #expect(store.present.value.count == count)
    for index in 1...count { store.keep(own, of: "next \(index)") }
    #expect(store.present.value.count == count && store.knowledge(of: "next \(count)") != nil)
  }

  // MARK: Knowledge of a previous hub

  /// Knowledge of this age.
  private func knowledge(ago age: Duration, of receiver: String = "u-blox 000A0000, protocol 34.10")
    -> ReceiverKnowledge
  {
    let now = clock.systemTime()
    return ReceiverKnowledge(
      receiver: receiver, savedAt: now - age.inNanoseconds,
      place: .init(latitudeDegrees: 48, longitudeDegrees: 11, altitudeHAEMetres: 500, sigmaMetres: 10),
      database: [[UInt8](repeating: 1, count: 88)])
  }

  private struct Old: CustomTestStringConvertible, Sendable {
    var name: String
    var hours: Int64
    var receiver = "u-blox 000A0000, protocol 34.10"
    /// Whether the time is known.
    var isTimed = true
    var isGiven: Bool

    var testDescription: String { name }
  }

  @Test(arguments: [
    Old(name: "an hour old", hours: 1, isGiven: true), Old(name: "five hours old", hours: 5, isGiven: false),
    Old(name: "another's", hours: 1, receiver: "u-blox NEO-M8N-0, protocol 18.00", isGiven: false),
  ])
  private func `knowledge stored by an earlier hub is given back if it is still valid`(_ old: Old) async throws {
    let receiver = receiver(.ublox10)
    let hub = try hub("ublox", .ublox10)
    let machine = hub.machine
    machine.hostTime.confirm(UTCTime(nanosecondsSince1970: machine.systemTime()), at: machine.clock.now)
    machine.receiverKnowledge.restore(["gps": knowledge(ago: .seconds(3600 * old.hours), of: old.receiver)])
    try await visit(hub) { epochs in
      knowsTime(epochs) && (!old.isGiven || receiver.commands.contains(Self.database))
    }
    // If the earlier data was not sent, the receiver is asked for its own data at the end of the visit.
    if !old.isGiven { #expect(receiver.commands.count { $0 == Self.database } == 1, "\(receiver.commands)") }
    hub.shutDown()
    await hub.isOff()
  }
}
