import MonotonicTime

/// A receiver with an AT6558. It sends NMEA sentences by default, and understands PCAS and CASIC's binary messages
/// (CASIC Multimode Satellite Navigation Receiver Protocol Specification, V4.2.0.3).
struct CASICProtocol: ReceiverProtocol {
  static let speeds = [4800, 9600, 19200, 38400, 57600, 115_200]
  private static let intervals = [100, 200, 250, 500, 1000]

  private let factory: CASICSettings
  var settings: CASICSettings
  private var flash: CASICSettings?
  private var epochs = 0

  init(_ character: ReceiverCharacter) {
    factory = CASICSettings(speed: character.speed)
    settings = factory
  }

  mutating func begin(_ body: inout ReceiverBody) {
    settings = flash ?? factory
    apply(&body)
    let lines = ["MA=CASIC", CASICText.chip, CASICText.software, CASICText.built, mode]
    for line in lines { body.say("GPTXT,01,01,02,\(line)") }
  }

  private var mode: String {
    "MO="
      + [(SatelliteSystem.gps, "G"), (.beidou, "B"), (.glonass, "R")].map { settings.systems.contains($0) ? $1 : "" }
      .joined()
  }

  func apply(_ body: inout ReceiverBody) {
    body.speed = settings.speed
    body.interval = .milliseconds(settings.intervalMilliseconds)
    guard body.systems != settings.systems else { return }
    body.systems = settings.systems
    if body.phase == .tracking || body.phase == .searching { body.search() }
  }

  mutating func wake(_ body: inout ReceiverBody) { body.search() }

  mutating func lostPower(isBackedUp: Bool) {}

  mutating func leave(at speed: Int, _ body: inout ReceiverBody) {
    var left = flash ?? factory
    left.speed = speed
    flash = left
    settings.speed = speed
    body.speed = speed
  }

  // MARK: Commands

  mutating func take(_ command: ReceivedCommand, _ body: inout ReceiverBody) {
    switch command.name {
    case .text(let name): takeText(name, command.fields, &body)
    case .binary(let group, let id):
      guard command.form == .casic else { return }
      switch (group, id) {
      case (0x06, _):
        let speed = body.speed
        let isDone = takeConfiguration(id, command.payload, &body)
        // The acknowledgement is sent at the old speed.
        let next = body.speed
        body.speed = speed
        acknowledge(command, isDone, &body)
        body.speed = next
        if isDone, id == 0x02 { restart(command.payload, &body) }
      case (0x0B, 0x01) where command.payload.count == 56: assist(command.payload, &body)
      case (0x0A, 0x04) where command.payload.isEmpty: body.answer(CASICMessages.version.casic(0x0A, 0x04))
      default: refuse(command, &body)
      }
    case .correction: return
    }
  }

  func refuse(_ command: ReceivedCommand, _ body: inout ReceiverBody) {
    // Text commands are neither acknowledged nor rejected.
    if command.form == .casic { acknowledge(command, false, &body) }
  }

  private func acknowledge(_ command: ReceivedCommand, _ isDone: Bool, _ body: inout ReceiverBody) {
    guard case .binary(let group, let id) = command.name else { return }
    body.answer(BinaryMessage([group, id, 0, 0]).casic(0x05, isDone ? 1 : 0))
  }

  /// AID-INI. The flags at its end say which fields are valid. The receiver does not acknowledge it.
  private func assist(_ payload: [UInt8], _ body: inout ReceiverBody) {
    let flags = payload[55]
    // Bit 5 means a position in degrees, in which a latitude beyond 90 is invalid.
    let latitude = Double(bitPattern: payload[..<8].reversed().reduce(0) { $0 << 8 | UInt64($1) })
    let hasPlace = flags & 1 != 0 && (flags & 0x20 == 0 || latitude.magnitude <= 90)
    body.wasTold(time: flags & 2 != 0, place: hasPlace, bringsAlmanac: true)
  }

  mutating func start(_ start: Int, _ body: inout ReceiverBody) {
    if start == 3 { flash = nil }
    body.forget(for: start == 0 ? .hot : start == 1 ? .warm : .cold)
    body.boot()
  }

  private mutating func restart(_ payload: [UInt8], _ body: inout ReceiverBody) { start(Int(payload[3]), &body) }

  mutating func save() { flash = settings }

  // MARK: Text

  private mutating func takeText(_ name: String, _ fields: [String], _ body: inout ReceiverBody) {
    let value = fields.first.flatMap { Int($0) }
    switch (name, value) {
    case ("PCAS00", _): save()
    case ("PCAS01", let index?) where CASICProtocol.speeds.indices.contains(index):
      settings.speed = CASICProtocol.speeds[index]
    case ("PCAS02", let interval?) where CASICProtocol.intervals.contains(interval):
      settings.intervalMilliseconds = interval
    case ("PCAS03", _): takeSentences(fields)
    case ("PCAS04", let systems?) where (1...7).contains(systems): settings.navigation[13] = UInt8(systems)
    case ("PCAS06", let item?): tell(item, &body)
    case ("PCAS10", let kind?) where (0...3).contains(kind): return start(kind, &body)
    case ("PCAS11", let model?) where (0...7).contains(model): settings.navigation[4] = UInt8(model)
    case ("PCAS12", let seconds?) where (1...65_535).contains(seconds):
      return body.sleep(.standby, for: .seconds(seconds), wakesByBytes: false)
    default: return
    }
    apply(&body)
  }

  /// Sets the rates of the sentences from PCAS03. An empty field leaves the rate of its sentence unchanged.
  private mutating func takeSentences(_ fields: [String]) {
    let places: [(field: Int, output: UInt16)] = [
      (0, 0x4E00), (1, 0x4E01), (2, 0x4E02), (3, 0x4E03), (4, 0x4E04), (5, 0x4E05), (6, 0x4E08), (13, 0x4E07),
    ]
    for place in places where place.field < fields.count {
      if let rate = Int(fields[place.field]), (0...9).contains(rate) { settings.rates[place.output] = rate }
    }
  }

  private func tell(_ item: Int, _ body: inout ReceiverBody) {
    let lines = [CASICText.software, CASICText.hardware, mode, "CI=00000000"]
    guard lines.indices.contains(item) else { return }
    body.answer("GPTXT,01,01,02,\(lines[item])")
  }

  // MARK: Binary

  private mutating func takeConfiguration(_ id: UInt8, _ payload: [UInt8], _ body: inout ReceiverBody) -> Bool {
    switch (id, payload.count) {
    case (0x00, 0):
      for port in UInt8(0)...1 { body.answer(CASICMessages.port(port, speed: settings.speed).casic(0x06, 0x00)) }
    case (0x00, 8):
      let speed = Int(BinaryMessage.u4(payload, 4))
      guard [0, 0xFF].contains(payload[0]), CASICProtocol.speeds.contains(speed) else { return false }
      settings.speed = speed
    case (0x01, 0):
      for output in CASICSettings.outputs {
        var message = BinaryMessage([UInt8(output >> 8), UInt8(output & 0xFF)])
        message.u2(UInt16(settings.rates[output] ?? 0))
        body.answer(message.casic(0x06, 0x01))
      }
    case (0x01, 4): return setRate(payload, &body)
    case (0x02, 4): return payload[3] <= 3
    case (0x03, 0): body.answer(BinaryMessage(settings.pulse).casic(0x06, 0x03))
    case (0x03, 16): settings.pulse = payload
    case (0x04, 0):
      var message = BinaryMessage()
      message.u2(UInt16(settings.intervalMilliseconds))
      message.u2(0)
      body.answer(message.casic(0x06, 0x04))
    case (0x04, 4):
      let interval = Int(BinaryMessage.u2(payload, 0))
      guard CASICProtocol.intervals.contains(interval) else { return false }
      settings.intervalMilliseconds = interval
    case (0x05, 4): return store(payload, &body)
    case (0x07, 0): body.answer(BinaryMessage(settings.navigation).casic(0x06, 0x07))
    case (0x07, 44): return setNavigation(payload, &body)
    default: return false
    }
    apply(&body)
    return true
  }

  private mutating func setRate(_ payload: [UInt8], _ body: inout ReceiverBody) -> Bool {
    let output = UInt16(payload[0]) << 8 | UInt16(payload[1])
    let rate = BinaryMessage.u2(payload, 2)
    guard CASICSettings.outputs.contains(output) else { return false }
    if rate == 0xFFFF {
      body.answer(bytes(output, body.current, body))
    } else {
      settings.rates[output] = Int(rate)
    }
    return true
  }

  /// Handles CFG-CFG, whose mode 0 clears settings, 1 saves them, and 2 loads them.
  private mutating func store(_ payload: [UInt8], _ body: inout ReceiverBody) -> Bool {
    let mask = BinaryMessage.u2(payload, 0)
    var kept = flash ?? factory
    switch payload[2] {
    case 0: kept.take(mask, from: factory)
    case 1: kept.take(mask, from: settings)
    case 2:
      settings.take(mask, from: kept)
      apply(&body)
    default: return false
    }
    flash = kept
    return true
  }

  /// CFG-NAVX: sets the fields selected by its mask. The table maps each bit to the position of its field.
  private mutating func setNavigation(_ payload: [UInt8], _ body: inout ReceiverBody) -> Bool {
    let places: [Range<Int>?] = [
      4..<5, 5..<6, 6..<8, 8..<9, nil, 10..<11, 11..<12, 12..<13, 13..<14, 14..<16, 16..<24, 24..<28, 28..<32, 40..<44,
    ]
    let mask = BinaryMessage.u4(payload, 0)
    let changesSystems = mask & 1 << 8 != 0
    guard payload[4] <= 7 || mask & 1 == 0, !changesSystems || (1...7).contains(payload[13]) else { return false }
    for (bit, place) in places.enumerated() where mask >> UInt32(bit) & 1 == 1 {
      if let place { settings.navigation.replaceSubrange(place, with: payload[place]) }
    }
    apply(&body)
    return true
  }

  // MARK: Epochs

  mutating func report(_ solution: Solution, _ body: inout ReceiverBody) {
    epochs += 1
    for output in CASICSettings.outputs {
      guard let rate = settings.rates[output], rate > 0, epochs % rate == 0 else { continue }
      body.say(bytes(output, solution, body))
    }
  }

  private func bytes(_ output: UInt16, _ solution: Solution, _ body: ReceiverBody) -> [UInt8] {
    if let sentence = CASICSettings.sentence(output) {
      return SolutionSentences(solution, isModern: false)([sentence])
    }
    return CASICMessages.message(output, solution).casic(UInt8(output >> 8), UInt8(output & 0xFF))
  }
}

/// The texts with which the receiver identifies itself.
private enum CASICText {
  static let chip = "IC=AT6558R-5N-32-1C580901"
  static let software = "SW=URANUS5,V5.3.0.0"
  static let hardware = "HW=ATGM336H,0001170603610"
  static let built = "TB=2020-04-28,13:43:10"
}
