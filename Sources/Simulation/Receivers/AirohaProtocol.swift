import MonotonicTime

/// A receiver with Airoha's AG3352. It sends NMEA sentences, and PAIR commands go both ways (Quectel's LC86G GNSS
/// protocol specification).
struct AirohaProtocol: ReceiverProtocol {
  private struct Settings {
    var speed: Int
    var intervalMilliseconds = 1000
    /// The output interval in epochs, for GGA, GLL, GSA, GSV, RMC, VTG, ZDA, GRS, GST, GNS.
    var rates = [1, 1, 1, 1, 1, 1, 0, 0, 0, 0]
    /// Whether each system is enabled: GPS, GLONASS, Galileo, BeiDou, QZSS, NavIC.
    var systems = [1, 1, 1, 1, 1, 0]
    var navigationMode = 0
  }

  private enum Result: Int {
    case done = 0
    case failed = 2
    case unsupported = 3
    case parameter = 4
  }

  private static let sentences: [SolutionSentences.Kind?] = [.gga, .gll, .gsa, .gsv, .rmc, .vtg, .zda, nil, .gst, nil]
  private static let order: [SatelliteSystem?] = [.gps, .glonass, .galileo, .beidou, .qzss, nil]
  private static let version =
    "AG3352Q_V2.5.0.AG3352_20230420,S,N,9ec1cc8,2210141406,2ba,3,,,5bebcf5b,2210141404,72555ce,2210141406,,"

  private let factory: Settings
  private var settings: Settings
  private var flash: Settings?
  private var isSleepLocked = false
  private var reportsJamming = false
  private var epochs = 0

  init(_ character: ReceiverCharacter) {
    factory = Settings(speed: character.speed)
    settings = factory
  }

  mutating func begin(_ body: inout ReceiverBody) {
    settings = flash ?? factory
    (isSleepLocked, reportsJamming) = (false, false)
    apply(&body)
  }

  private func apply(_ body: inout ReceiverBody) {
    body.speed = settings.speed
    body.interval = .milliseconds(settings.intervalMilliseconds)
    body.systems = Set(zip(AirohaProtocol.order, settings.systems).compactMap { $1 == 1 ? $0 : nil })
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
    guard case .text(let name) = command.name, name.hasPrefix("PAIR"), name.utf8.count == 7 else { return }
    let number = String(name.dropFirst(4))
    let values = command.fields.map { Int($0) ?? .min }
    switch number {
    case "002":
      acknowledge(number, .done, &body)
      if body.phase == .stopped { body.search() }
    case "003":
      acknowledge(number, .done, &body)
      body.stopRadio()
    case "004": restart(number, .hot, &body)
    case "005": restart(number, .warm, &body)
    case "006": restart(number, .cold, &body)
    case "007":
      flash = nil
      restart(number, .cold, &body)
    case "023": restart(number, .hot, &body)
    case "020", "021": answer(number, AirohaProtocol.version, &body)
    case "050": setInterval(values, &body)
    case "051": answer(number, "\(settings.intervalMilliseconds)", &body)
    case "062": setRate(values, &body)
    case "063": tellRate(values, &body)
    case "066": setSystems(values, &body)
    case "067": answer(number, settings.systems.map(String.init).joined(separator: ","), &body)
    case "080": setNavigationMode(values, &body)
    case "081": answer(number, "\(settings.navigationMode)", &body)
    case "382": setSwitch(number, values, \.isSleepLocked, &body)
    case "391": setSwitch(number, values, \.reportsJamming, &body)
    case "513": save(&body)
    case "650": sleep(values, &body)
    case "864": setSpeed(values, &body)
    case "865": answer(number, "\(settings.speed)", &body)
    default: acknowledge(number, .unsupported, &body)
    }
  }

  func refuse(_ command: ReceivedCommand, _ body: inout ReceiverBody) {
    guard case .text(let name) = command.name, name.hasPrefix("PAIR") else { return }
    acknowledge(String(name.dropFirst(4)), .failed, &body)
  }

  private func acknowledge(_ number: String, _ result: Result, _ body: inout ReceiverBody) {
    body.answer("PAIR001,\(number),\(result.rawValue)")
  }

  private func answer(_ number: String, _ text: String, _ body: inout ReceiverBody) {
    acknowledge(number, .done, &body)
    body.answer("PAIR\(number),\(text)")
  }

  private func restart(_ number: String, _ start: ReceiverStart, _ body: inout ReceiverBody) {
    acknowledge(number, .done, &body)
    body.forget(for: start)
    body.boot()
  }

  private mutating func setInterval(_ values: [Int], _ body: inout ReceiverBody) {
    guard values.count == 1, (100...1000).contains(values[0]) else { return acknowledge("050", .parameter, &body) }
    settings.intervalMilliseconds = values[0]
    apply(&body)
    acknowledge("050", .done, &body)
  }

  /// Sets the rate of one sentence. The value -1 restores the factory rates of all sentences.
  private mutating func setRate(_ values: [Int], _ body: inout ReceiverBody) {
    if values == [-1] {
      settings.rates = factory.rates
      return acknowledge("062", .done, &body)
    }
    guard values.count == 2, settings.rates.indices.contains(values[0]), (0...20).contains(values[1]) else {
      return acknowledge("062", .parameter, &body)
    }
    settings.rates[values[0]] = values[1]
    acknowledge("062", .done, &body)
  }

  private func tellRate(_ values: [Int], _ body: inout ReceiverBody) {
    guard values.count == 1 else { return acknowledge("063", .parameter, &body) }
    if values[0] == -1 {
      acknowledge("063", .done, &body)
      for (type, rate) in settings.rates.enumerated() { body.answer("PAIR063,\(type),\(rate)") }
    } else if settings.rates.indices.contains(values[0]) {
      answer("063", "\(values[0]),\(settings.rates[values[0]])", &body)
    } else {
      acknowledge("063", .parameter, &body)
    }
  }

  private mutating func setSystems(_ values: [Int], _ body: inout ReceiverBody) {
    let values = values.count == 5 ? values + [0] : values
    guard values.count == 6, values.allSatisfy({ $0 == 0 || $0 == 1 }), values[..<4].contains(1) else {
      return acknowledge("066", .parameter, &body)
    }
    settings.systems = values
    acknowledge("066", .done, &body)
    apply(&body)
    if body.phase != .stopped { body.search() }
  }

  private mutating func setNavigationMode(_ values: [Int], _ body: inout ReceiverBody) {
    guard values.count == 1, (0...9).contains(values[0]) else { return acknowledge("080", .parameter, &body) }
    settings.navigationMode = values[0]
    acknowledge("080", .done, &body)
  }

  private mutating func setSwitch(
    _ number: String, _ values: [Int], _ isOn: WritableKeyPath<AirohaProtocol, Bool>, _ body: inout ReceiverBody
  ) {
    guard values == [0] || values == [1] else { return acknowledge(number, .parameter, &body) }
    self[keyPath: isOn] = values == [1]
    acknowledge(number, .done, &body)
  }

  /// Saves the settings. At more than one epoch per second this requires the radio to be off and sleep to be locked.
  private mutating func save(_ body: inout ReceiverBody) {
    guard settings.intervalMilliseconds == 1000 || (body.phase == .stopped && isSleepLocked) else {
      return acknowledge("513", .failed, &body)
    }
    flash = settings
    acknowledge("513", .done, &body)
  }

  /// Sleeps with only the clock running. A duration of 0 lasts indefinitely. Bytes on the UART do not wake the
  /// receiver.
  private func sleep(_ values: [Int], _ body: inout ReceiverBody) {
    guard values.count == 1, values[0] >= 0 else { return acknowledge("650", .parameter, &body) }
    acknowledge("650", .done, &body)
    body.sleep(.backup, for: values[0] == 0 ? nil : .seconds(values[0]), wakesByBytes: false)
  }

  /// Sets the speed of UART 0. The acknowledgement is sent at the old speed.
  private mutating func setSpeed(_ values: [Int], _ body: inout ReceiverBody) {
    let speeds = [9600, 115_200, 230_400, 460_800, 921_600]
    guard values.count == 3, values[0] == 0, values[1] == 0, speeds.contains(values[2]) else {
      return acknowledge("864", .parameter, &body)
    }
    acknowledge("864", .done, &body)
    settings.speed = values[2]
    body.speed = values[2]
  }

  // MARK: Epochs

  mutating func report(_ solution: Solution, _ body: inout ReceiverBody) {
    epochs += 1
    let kinds = zip(AirohaProtocol.sentences, settings.rates).compactMap { kind, rate in
      rate > 0 && epochs % rate == 0 ? kind : nil
    }
    body.say(SolutionSentences(solution, isModern: true)(kinds))
    if reportsJamming { body.say("PAIRSPF,\(body.faults.jamming?.state ?? 1)") }
  }
}
