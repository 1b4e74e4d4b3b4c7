import MonotonicTime

/// A receiver with MediaTek's MT3333. It sends NMEA sentences, and PMTK commands go both ways (PMTK command packet,
/// revision A11, and Quectel's L86 GNSS protocol specification).
struct MediaTekProtocol: ReceiverProtocol {
  /// The settings in backup RAM.
  private struct Settings {
    var speed: Int
    var intervalMilliseconds = 1000
    /// The output interval in epochs, for GLL, RMC, VTG, GGA, GSA, GSV, GRS, GST, nine unused sentences, ZDA, MCHN.
    var rates = [1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    var systems: Set<SatelliteSystem> = [.gps, .glonass]
  }

  private enum Flag: Int {
    case invalid = 0
    case unsupported = 1
    case failed = 2
    case done = 3
  }

  private static let sentences: [(field: Int, kind: SolutionSentences.Kind)] = [
    (3, .gga), (4, .gsa), (5, .gsv), (1, .rmc), (2, .vtg), (0, .gll), (7, .gst), (17, .zda),
  ]
  private static let release = "MT3333_AXN5.1.9_MODULE_STD_F1_P1,0002,Quectel-L86,1.0"

  private let factorySpeed: Int
  private var settings: Settings
  private var epochs = 0

  init(_ character: ReceiverCharacter) {
    factorySpeed = character.speed
    settings = Settings(speed: character.speed)
  }

  mutating func begin(_ body: inout ReceiverBody) {
    body.savesPower = false
    apply(&body)
    body.say("PMTK011,MTKGPS")
    body.say("PMTK010,001")
  }

  private func apply(_ body: inout ReceiverBody) {
    body.speed = settings.speed
    body.interval = .milliseconds(settings.intervalMilliseconds)
    body.systems = settings.systems
  }

  mutating func wake(_ body: inout ReceiverBody) {
    body.say("PMTK010,002")
    body.search()
  }

  mutating func lostPower(isBackedUp: Bool) {
    if !isBackedUp { settings = Settings(speed: factorySpeed) }
  }

  mutating func leave(at speed: Int, _ body: inout ReceiverBody) {
    settings.speed = speed
    body.speed = speed
  }

  // MARK: Commands

  mutating func take(_ command: ReceivedCommand, _ body: inout ReceiverBody) {
    guard let number = MediaTekProtocol.number(command) else { return }
    let values = command.fields.map { Int($0) }
    switch number {
    case 0: acknowledge(number, .done, &body)
    case 101: restart(.hot, &body)
    case 102: restart(.warm, &body)
    case 103: restart(.cold, &body)
    case 104:
      settings = Settings(speed: factorySpeed)
      restart(.cold, &body)
    case 161:
      acknowledge(number, values == [0] ? .done : .invalid, &body)
      if values == [0] { body.sleep(.standby, for: nil, wakesByBytes: true) }
    case 220: setInterval(values, &body)
    case 225: setPowerMode(values, &body)
    case 251: setSpeed(values, &body)
    case 314: setRates(values, &body)
    case 353: setSystems(values, &body)
    case 400: body.answer("PMTK500,\(settings.intervalMilliseconds),0,0,0,0")
    case 414: body.answer("PMTK514,\(settings.rates.map(String.init).joined(separator: ","))")
    case 740: takeTime(values, &body)
    case 741: takePlace(command.fields, &body)
    case 605: body.answer("PMTK705,\(MediaTekProtocol.release)")
    default: acknowledge(number, .unsupported, &body)
    }
  }

  func refuse(_ command: ReceivedCommand, _ body: inout ReceiverBody) {
    if let number = MediaTekProtocol.number(command) { acknowledge(number, .failed, &body) }
  }

  private static func number(_ command: ReceivedCommand) -> Int? {
    guard case .text(let name) = command.name, name.hasPrefix("PMTK"), name.utf8.count == 7 else { return nil }
    return Int(name.dropFirst(4))
  }

  private func acknowledge(_ number: Int, _ flag: Flag, _ body: inout ReceiverBody) {
    body.answer("PMTK001,\(number),\(flag.rawValue)")
  }

  /// Restarts the receiver. The start-up message takes the place of an acknowledgement.
  private func restart(_ start: ReceiverStart, _ body: inout ReceiverBody) {
    body.forget(for: start)
    body.boot()
  }

  private mutating func setInterval(_ values: [Int?], _ body: inout ReceiverBody) {
    guard values.count == 1, let milliseconds = values[0] else { return acknowledge(220, .invalid, &body) }
    guard (100...10_000).contains(milliseconds) else { return acknowledge(220, .failed, &body) }
    settings.intervalMilliseconds = milliseconds
    apply(&body)
    acknowledge(220, .done, &body)
  }

  /// Sets the power mode. Periodic modes are not simulated and are rejected as unsupported.
  private func setPowerMode(_ values: [Int?], _ body: inout ReceiverBody) {
    switch values.first ?? nil {
    case 0:
      body.savesPower = false
      acknowledge(225, .done, &body)
    case 4:
      acknowledge(225, .done, &body)
      // Only the FORCE_ON line or the supply wakes the receiver.
      body.sleep(.backup, for: nil, wakesByBytes: false)
    case 8, 9:
      body.savesPower = true
      acknowledge(225, .done, &body)
    case nil: acknowledge(225, .invalid, &body)
    default: acknowledge(225, .unsupported, &body)
    }
  }

  /// Sets the speed without an acknowledgement. 0 restores the factory speed.
  private mutating func setSpeed(_ values: [Int?], _ body: inout ReceiverBody) {
    let speeds = [0, 4800, 9600, 14400, 19200, 38400, 57600, 115_200]
    guard values.count == 1, let speed = values[0], speeds.contains(speed) else {
      return acknowledge(251, .invalid, &body)
    }
    settings.speed = speed == 0 ? factorySpeed : speed
    body.speed = settings.speed
  }

  private mutating func setRates(_ values: [Int?], _ body: inout ReceiverBody) {
    if values == [-1] {
      settings.rates = Settings(speed: 0).rates
      return acknowledge(314, .done, &body)
    }
    let rates = values.compactMap { $0 }
    guard values.count == settings.rates.count, rates.count == values.count else {
      return acknowledge(314, .invalid, &body)
    }
    guard rates.allSatisfy({ (0...5).contains($0) }) else { return acknowledge(314, .failed, &body) }
    settings.rates = rates
    acknowledge(314, .done, &body)
  }

  /// Sets the systems, in the order GPS, GLONASS, Galileo, Galileo's full mode and BeiDou, and restarts.
  private mutating func setSystems(_ values: [Int?], _ body: inout ReceiverBody) {
    let order: [SatelliteSystem] = [.gps, .glonass, .galileo, .galileo, .beidou]
    guard values.count == 5, values.allSatisfy({ $0 == 0 || $0 == 1 }) else {
      return acknowledge(353, .invalid, &body)
    }
    let wanted = Set(zip(order, values).filter { $0.1 == 1 }.map(\.0))
    // The radio cannot receive GLONASS and BeiDou together, because their frequencies are too far apart.
    guard !wanted.isEmpty, !wanted.isSuperset(of: [.glonass, .beidou]) else {
      return acknowledge(353, .failed, &body)
    }
    settings.systems = wanted
    acknowledge(353, .done, &body)
    restart(.hot, &body)
  }

  // MARK: Assistance

  private func takeTime(_ values: [Int?], _ body: inout ReceiverBody) {
    guard MediaTekProtocol.isTime(values) else { return acknowledge(740, .invalid, &body) }
    body.wasTold(time: true, place: false, bringsAlmanac: true)
    acknowledge(740, .done, &body)
  }

  /// Receives latitude, longitude, altitude and time from the host.
  private func takePlace(_ fields: [String], _ body: inout ReceiverBody) {
    let place = fields.prefix(3).compactMap { Double($0) }
    guard fields.count == 9, place.count == 3, place[0].magnitude <= 90, place[1].magnitude <= 180,
      MediaTekProtocol.isTime(fields.dropFirst(3).map { Int($0) })
    else { return acknowledge(741, .invalid, &body) }
    body.wasTold(time: true, place: true, bringsAlmanac: true)
    acknowledge(741, .done, &body)
  }

  private static func isTime(_ values: [Int?]) -> Bool {
    let parts = values.compactMap { $0 }
    let ranges = [2010...2099, 1...12, 1...31, 0...23, 0...59, 0...60]
    return values.count == 6 && parts.count == 6 && zip(ranges, parts).allSatisfy { $0.contains($1) }
  }

  // MARK: Epochs

  mutating func report(_ solution: Solution, _ body: inout ReceiverBody) {
    epochs += 1
    let kinds = MediaTekProtocol.sentences.filter {
      settings.rates[$0.field] > 0 && epochs % settings.rates[$0.field] == 0
    }
    body.say(SolutionSentences(solution, isModern: false)(kinds.map(\.kind)))
  }
}
