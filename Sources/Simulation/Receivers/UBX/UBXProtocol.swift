import MonotonicTime
import NMEA

/// A u-blox receiver. It sends NMEA sentences by default, and UBX goes both ways.
struct UBXProtocol: ReceiverProtocol {
  let generation: UBXGeneration
  var settings: UBXSettings
  /// The changes collected by a CFG-VALSET transaction.
  var transaction: [(layers: UInt8, values: [UInt32: UInt64])] = []
  var isInTransaction = false
  /// The navigation data that UPD-SOS has saved in flash, and the result of restoring it.
  var savedNavigation: NavigationMemory?
  var restoration: UBXRestoration = .noBackup
  private var epochs: UInt64 = 0

  init(_ generation: UBXGeneration, _ character: ReceiverCharacter) {
    self.generation = generation
    settings = UBXSettings(generation, character)
  }

  // MARK: Beginnings

  mutating func begin(_ body: inout ReceiverBody) {
    settings.start()
    transaction = []
    isInTransaction = false
    body.savesPower = false
    apply(&body)
    restore(&body)
    guard settings.isOn(UBXKey.outputNMEA) else { return }
    let talker = generation.usesModernNMEA ? "GN" : "GP"
    let lines = [
      "u-blox AG - www.u-blox.com", "HW UBX \(generation.number) \(generation.hardware)", generation.software,
    ]
    for line in lines + generation.extensions { body.say("\(talker)TXT,01,01,02,\(line)") }
  }

  mutating func wake(_ body: inout ReceiverBody) { body.boot() }

  mutating func lostPower(isBackedUp: Bool) {
    if !isBackedUp { settings.backup = UBXSettings.Layer() }
  }

  mutating func leave(at speed: Int, _ body: inout ReceiverBody) {
    settings.ram.values[UBXKey.baudRate] = UInt64(speed)
    settings.backup.values[UBXKey.baudRate] = UInt64(speed)
    if settings.hasFlash { settings.flash.values[UBXKey.baudRate] = UInt64(speed) }
    body.speed = speed
  }

  func isDeafened(by frameErrors: Int) -> Bool { frameErrors > 100 }

  func deafNote() -> [UInt8] {
    let talker = generation.usesModernNMEA ? "GN" : "GP"
    return Array(
      SentenceWriter.make("\(talker)TXT,01,01,01,More than 100 frame errors, UART RX was disabled").utf8)
  }

  /// Applies the settings to the body.
  func apply(_ body: inout ReceiverBody) {
    body.speed = Int(settings.value(UBXKey.baudRate))
    let milliseconds = settings.value(UBXKey.measurementRate) * max(1, settings.value(UBXKey.navigationRate))
    let interval = Duration.milliseconds(Int64(milliseconds))
    if body.interval != interval { body.interval = interval }
    let saves = savesPower
    if body.savesPower != saves { body.savesPower = saves }
    let systems = generation.systems.filter { settings.isOn(UBXKey.system($0)) }
    guard systems != body.systems else { return }
    body.systems = systems
    // The radio restarts.
    if body.phase == .tracking || body.phase == .searching { body.search() }
  }

  private var savesPower: Bool {
    if generation.hasKeys { return settings.value(UBXKey.operatingMode) != 0 }
    let manager = settings.ram.records[UBXRecord.receiverManager].map { $0[1] } ?? 0
    let setup = settings.ram.records[UBXRecord.powerModeSetup].map { $0[1] } ?? 0
    return manager == 1 || (setup != 0 && setup != 0xFF)
  }

  // MARK: Commands

  mutating func take(_ command: ReceivedCommand, _ body: inout ReceiverBody) {
    switch command.name {
    case .binary(let group, let id):
      guard command.form == .ubx, settings.isOn(UBXKey.inputUBX) else { return }
      take(group, id, command, &body)
    case .text(let name):
      guard settings.isOn(UBXKey.inputNMEA), name.hasPrefix("P"), settings.isOn(UBXKey.outputNMEA) else { return }
      body.answer("\(generation.usesModernNMEA ? "GN" : "GP")TXT,01,01,01,NMEA unknown msg")
    case .correction(let number): reportCorrection(number, command.payload, &body)
    }
  }

  /// Sends RXM-RTCM for a correction message, if the host has enabled this output.
  private func reportCorrection(_ number: UInt16, _ payload: [UInt8], _ body: inout ReceiverBody) {
    guard let output = UBXOutput.find(0x02, 0x32, in: generation), settings.value(output.key) > 0,
      settings.isOn(UBXKey.inputRTCM3), settings.isOn(UBXKey.outputUBX)
    else { return }
    var message = BinaryMessage([2, body.configuration.takesCorrections ? 2 << 1 : 1 << 1])
    message.u2(0)
    message.u2(payload.count > 2 ? UInt16(payload[1] & 0xF) << 8 | UInt16(payload[2]) : 0)
    message.u2(number)
    body.say(message.ubx(0x02, 0x32))
  }

  private mutating func take(_ group: UInt8, _ id: UInt8, _ command: ReceivedCommand, _ body: inout ReceiverBody) {
    switch (group, id) {
    case (0x06, 0x04): reset(command.payload, &body)
    case (0x06, 0x8A...0x8C) where generation.hasKeys: acknowledge(command, takeKeys(id, command.payload, &body), &body)
    case (0x06, _):
      let isUnderstood = takeConfiguration(id, command.payload, &body)
      acknowledge(command, isUnderstood, &body)
    case (0x02, 0x41): sleep(command.payload, &body)
    case (0x0A, 0x04) where command.payload.isEmpty: send(version, 0x0A, 0x04, &body)
    case (0x27, 0x03) where command.payload.isEmpty && generation.protocolVersion >= 18:
      send(uniqueIdentifier, 0x27, 0x03, &body)
    case (0x09, 0x14) where settings.hasFlash: saveOnShutdown(command.payload, &body)
    case (0x13, _) where generation.hasAssistance: assist(id, command.payload, &body)
    default:
      guard command.payload.isEmpty, UBXOutput.find(group, id, in: generation) != nil, group != 0xF0,
        let message = message(group, id, body.current, body)
      else { return refuse(command, &body) }
      send(message, group, id, &body)
    }
  }

  func refuse(_ command: ReceivedCommand, _ body: inout ReceiverBody) {
    if command.form == .ubx { acknowledge(command, false, &body) }
  }

  private func acknowledge(_ command: ReceivedCommand, _ isDone: Bool, _ body: inout ReceiverBody) {
    guard case .binary(let group, let id) = command.name, settings.isOn(UBXKey.outputUBX) else { return }
    body.answer(BinaryMessage([group, id]).ubx(0x05, isDone ? 1 : 0))
  }

  /// Sends a message. Answers to polls are independent of the output rates.
  func send(_ message: BinaryMessage, _ group: UInt8, _ id: UInt8, _ body: inout ReceiverBody) {
    guard settings.isOn(UBXKey.outputUBX) else { return }
    body.answer(message.ubx(group, id))
  }

  /// Handles CFG-RST, which is not acknowledged.
  private mutating func reset(_ payload: [UInt8], _ body: inout ReceiverBody) {
    guard payload.count == 4 else { return }
    let forgotten = BinaryMessage.u2(payload, 0)
    let start: ReceiverStart = forgotten & 0x0190 != 0 ? .cold : forgotten & 1 != 0 ? .warm : .hot
    switch payload[2] {
    case 0, 1, 4:
      body.forget(for: start)
      body.boot()
    case 2:
      body.forget(for: start)
      body.search()
    case 8:
      body.forget(for: start)
      body.stopRadio()
    case 9:
      body.forget(for: start)
      if body.phase == .stopped { body.search() }
    default: break
    }
  }

  /// Handles RXM-PMREQ, which is not acknowledged. The receiver wakes after the duration. Bytes on its UART wake it as
  /// well, unless the long form of the message excludes this. Settings that are only in RAM are lost.
  private mutating func sleep(_ payload: [UInt8], _ body: inout ReceiverBody) {
    let isShort = payload.count == 8 && generation.hasShortSleep
    guard isShort || (payload.count == 16 && generation.hasLongSleep) else { return }
    let milliseconds = BinaryMessage.u4(payload, isShort ? 0 : 4)
    let flags = BinaryMessage.u4(payload, isShort ? 4 : 8)
    guard flags & 2 != 0, !generation.mustBeForcedToSleep || flags & 4 != 0 else { return }
    let wakesByBytes = isShort || BinaryMessage.u4(payload, 12) & 8 != 0
    body.sleep(
      .backup, for: milliseconds == 0 ? nil : .milliseconds(Int64(milliseconds)), wakesByBytes: wakesByBytes)
  }

  // MARK: Epochs

  mutating func report(_ solution: Solution, _ body: inout ReceiverBody) {
    epochs += 1
    let sentences = SolutionSentences(solution, isModern: generation.usesModernNMEA)
    var bytes: [UInt8] = []
    for output in UBXOutput.all where output.exists(in: generation) {
      let rate = settings.value(output.key)
      guard rate > 0, epochs % rate == 0 else { continue }
      // Each pulse is announced once.
      let second = solution.utc.nanosecondsSince1970 % 1_000_000_000
      if output.group == 0x0D, second >= body.interval.inNanoseconds { continue }
      if output.group == 0xF0 {
        if settings.isOn(UBXKey.outputNMEA), let sentence = output.sentence { bytes += sentences([sentence]) }
      } else if settings.isOn(UBXKey.outputUBX), let message = message(output.group, output.id, solution, body) {
        bytes += message.ubx(output.group, output.id)
      }
    }
    body.say(bytes)
  }
}

/// A generation of u-blox receivers: its identification and the commands it supports.
struct UBXGeneration: Sendable {
  let number: Int
  /// The integer part of the protocol version.
  let protocolVersion: Int
  let software: String
  let hardware: String
  let extensions: [String]
  let systems: Set<SatelliteSystem>
  /// The systems that the factory settings enable.
  let enabledSystems: Set<SatelliteSystem>
  /// The number of systems among GPS, GLONASS, Galileo and BeiDou that can be enabled together.
  let mostMajorSystems: Int

  /// Whether the receiver supports CFG messages with fixed fields, such as CFG-RATE.
  var hasLegacyConfiguration: Bool { number < 10 }
  /// Whether the receiver supports CFG-VALSET, CFG-VALGET and CFG-VALDEL.
  var hasKeys: Bool { protocolVersion >= 27 }
  var hasAssistance: Bool { protocolVersion >= 15 }
  /// Whether the receiver supports the eight-byte RXM-PMREQ.
  var hasShortSleep: Bool { number < 9 }
  /// Whether the receiver supports the sixteen-byte RXM-PMREQ.
  var hasLongSleep: Bool { protocolVersion >= 18 }
  /// Whether the receiver sleeps only with the force flag.
  var mustBeForcedToSleep: Bool { number >= 10 }
  var usesModernNMEA: Bool { number >= 9 }

  static let six = UBXGeneration(
    number: 6, protocolVersion: 13, software: "7.03 (45969)", hardware: "00040007", extensions: [],
    systems: [.gps, .sbas, .qzss], enabledSystems: [.gps, .sbas, .qzss], mostMajorSystems: 1)

  static let seven = UBXGeneration(
    number: 7, protocolVersion: 14, software: "1.00 (59842)", hardware: "00070000",
    extensions: ["PROTVER 14.00", "GPS;SBAS;GLO;QZSS"], systems: [.gps, .sbas, .qzss, .glonass],
    enabledSystems: [.gps, .sbas, .qzss], mostMajorSystems: 1)

  static let eight = UBXGeneration(
    number: 8, protocolVersion: 18, software: "EXT CORE 3.01 (107900)", hardware: "00080000",
    extensions: [
      "ROM BASE 2.01 (75331)", "FWVER=SPG 3.01", "PROTVER=18.00", "MOD=NEO-M8N-0", "GPS;GLO;GAL;BDS", "SBAS;IMES;QZSS",
    ],
    systems: Set(SatelliteSystem.allCases), enabledSystems: [.gps, .sbas, .qzss, .glonass], mostMajorSystems: 3)

  static let nine = UBXGeneration(
    number: 9, protocolVersion: 32, software: "EXT CORE 4.04 (7f89f7)", hardware: "00190000",
    extensions: [
      "ROM BASE 0x118B2060", "FWVER=SPG 4.04", "PROTVER=32.01", "MOD=NEO-M9N", "GPS;GLO;GAL;BDS", "SBAS;QZSS",
    ],
    systems: Set(SatelliteSystem.allCases), enabledSystems: Set(SatelliteSystem.allCases), mostMajorSystems: 4)

  static let ten = UBXGeneration(
    number: 10, protocolVersion: 34, software: "ROM SPG 5.10 (7b202e)", hardware: "000A0000",
    extensions: ["FWVER=SPG 5.10", "PROTVER=34.10", "GPS;GLO;GAL;BDS", "SBAS;QZSS"],
    systems: Set(SatelliteSystem.allCases), enabledSystems: [.gps, .sbas, .galileo, .beidou, .qzss],
    mostMajorSystems: 3)

  static let majorSystems: Set<SatelliteSystem> = [.gps, .galileo, .beidou, .glonass]
}
