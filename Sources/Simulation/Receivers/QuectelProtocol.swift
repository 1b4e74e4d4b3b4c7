import MonotonicTime
import NMEA

/// A Quectel LG290P. It sends NMEA sentences and takes PQTM commands (LG290P(03)&LGx80P(03) GNSS protocol specification
/// 1.1).
///
/// As observed by others with firmware R02A01S, the rates of sentences and the speed change at once, and the other
/// settings at the next start, which loads the saved settings.
struct QuectelProtocol: ReceiverProtocol {
  private struct Settings {
    var speed: Int
    /// The values of the settings that take effect at a start, as the receiver states them, by the name of the command.
    var values = ["PQTMCFGFIXRATE": "1000", "PQTMCFGCNST": "1,1,1,1,1,1", "PQTMCFGNAVMODE": "11"]
    /// The output interval in epochs, by the name of the sentence.
    var rates = ["RMC": 1, "GGA": 1, "GSV": 1, "GSA": 1, "VTG": 1, "GLL": 1]
  }

  private enum Failure: Int {
    case parameter = 1
    case failed = 2
    case unsupported = 3
  }

  private static let sentences: [(name: String, kind: SolutionSentences.Kind)] = [
    ("RMC", .rmc), ("GGA", .gga), ("GSV", .gsv), ("GSA", .gsa), ("VTG", .vtg), ("GLL", .gll), ("GST", .gst),
    ("ZDA", .zda),
  ]
  private static let order: [SatelliteSystem?] = [.gps, .glonass, .galileo, .beidou, .qzss, nil]
  private static let version = "LG290P03AANR02A01S,2025/12/12,11:21:01"

  private let factory: Settings
  private var settings: Settings
  private var flash: Settings?
  private var epochs = 0

  init(_ character: ReceiverCharacter) {
    factory = Settings(speed: character.speed)
    settings = factory
  }

  mutating func begin(_ body: inout ReceiverBody) {
    settings = flash ?? factory
    body.speed = settings.speed
    body.interval = .milliseconds(settings.values["PQTMCFGFIXRATE"].flatMap { Int($0) } ?? 1000)
    let flags = settings.values["PQTMCFGCNST"]?.split(separator: ",") ?? []
    body.systems = Set(zip(QuectelProtocol.order, flags).compactMap { $1 == "1" ? $0 : nil })
    body.say("PQTMVER,1,MODULE,\(QuectelProtocol.version)")
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
    guard case .text(let name) = command.name, name.hasPrefix("PQTM") else { return }
    switch name {
    case "PQTMVERNO": body.answer("PQTMVERNO,\(QuectelProtocol.version)")
    case "PQTMUNIQID": body.answer("PQTMUNIQID,OK,8,0000183B31B3C252")
    case "PQTMSAVEPAR":
      flash = settings
      body.answer("PQTMSAVEPAR,OK")
    case "PQTMRESTOREPAR":
      flash = nil
      body.answer("PQTMRESTOREPAR,OK")
    // The starts are not acknowledged.
    case "PQTMSRR", "PQTMHOT": restart(.hot, &body)
    case "PQTMWARM": restart(.warm, &body)
    case "PQTMCOLD": restart(.cold, &body)
    case "PQTMCFGUART": uart(command.fields, &body)
    case "PQTMCFGMSGRATE": messageRate(command.fields, &body)
    case "PQTMCFGFIXRATE", "PQTMCFGCNST", "PQTMCFGNAVMODE": setting(name, command.fields, &body)
    default: refuse(name, .unsupported, &body)
    }
  }

  func refuse(_ command: ReceivedCommand, _ body: inout ReceiverBody) {
    guard case .text(let name) = command.name, name.hasPrefix("PQTM") else { return }
    refuse(name, .failed, &body)
  }

  private func refuse(_ name: String, _ failure: Failure, _ body: inout ReceiverBody) {
    body.answer("\(name),ERROR,\(failure.rawValue)")
  }

  private func restart(_ start: ReceiverStart, _ body: inout ReceiverBody) {
    body.forget(for: start)
    body.boot()
  }

  private mutating func setting(_ name: String, _ fields: [String], _ body: inout ReceiverBody) {
    if fields == ["R"] { return body.answer("\(name),OK,\(settings.values[name] ?? "")") }
    let values = fields.dropFirst().map { Int($0) ?? -1 }
    let isPossible =
      switch name {
      case "PQTMCFGFIXRATE": values.count == 1 && (50...1000).contains(values[0])
      case "PQTMCFGCNST": values.count == 6 && values.allSatisfy { $0 == 0 || $0 == 1 } && values.contains(1)
      default: values.count == 1 && [0, 5, 11, 14].contains(values[0])
      }
    guard fields.first == "W", isPossible else { return refuse(name, .parameter, &body) }
    settings.values[name] = values.map(String.init).joined(separator: ",")
    body.answer("\(name),OK")
  }

  /// Sets or states the speed of the port. The acknowledgement of a change is sent at the new speed.
  private mutating func uart(_ fields: [String], _ body: inout ReceiverBody) {
    if fields == ["R"] { return body.answer("PQTMCFGUART,OK,1,\(settings.speed),8,0,1,0") }
    let speeds = [9600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800, 921_600]
    guard fields.count == 2, fields[0] == "W", let speed = Int(fields[1]), speeds.contains(speed) else {
      return refuse("PQTMCFGUART", .parameter, &body)
    }
    settings.speed = speed
    body.speed = speed
    body.answer("PQTMCFGUART,OK")
  }

  /// Sets or states the rate of a sentence at this port. Quectel's own sentences need their version as well.
  private mutating func messageRate(_ fields: [String], _ body: inout ReceiverBody) {
    let isWrite = fields.first == "W"
    guard fields.count >= 2, isWrite || fields[0] == "R" else { return refuse("PQTMCFGMSGRATE", .parameter, &body) }
    let name = fields[1]
    let isStandard = QuectelProtocol.sentences.contains { $0.name == name }
    let version = isStandard ? [] : ["2"]
    let isKnown = isStandard || name == "PQTMEPE"
    guard isKnown, Array(fields.dropFirst(isWrite ? 3 : 2)) == version else {
      return refuse("PQTMCFGMSGRATE", .parameter, &body)
    }
    if isWrite {
      guard let rate = Int(fields[2]), (0...20).contains(rate) else {
        return refuse("PQTMCFGMSGRATE", .parameter, &body)
      }
      settings.rates[name] = rate
      return body.answer("PQTMCFGMSGRATE,OK")
    }
    let values = [name, "\(settings.rates[name] ?? 0)"] + version
    body.answer("PQTMCFGMSGRATE,OK,\(values.joined(separator: ","))")
  }

  // MARK: Epochs

  mutating func report(_ solution: Solution, _ body: inout ReceiverBody) {
    epochs += 1
    let kinds = QuectelProtocol.sentences.filter { isDue($0.name) }.map(\.kind)
    body.say(SolutionSentences(solution, isModern: true)(kinds))
    guard isDue("PQTMEPE"), solution.hasFix else { return }
    let (side, down) = (solution.sigmaMetres, solution.sigmaMetres * Solution.verticalScale)
    let flat = 2 * side * side
    let errors = [side, side, down, flat.squareRoot(), (flat + down * down).squareRoot()]
    body.say("PQTMEPE,2,\(errors.map { SentenceField.fixed($0, 3) }.joined(separator: ","))")
  }

  private func isDue(_ name: String) -> Bool {
    let rate = settings.rates[name] ?? 0
    return rate > 0 && epochs % rate == 0
  }
}
