import HardwareIO
import NMEA

/// A receiver of Quectel's with PQTM commands alone (LG290P, LG293P, LG580P, LG680P). Quectel's other modules answer
/// some PQTM commands as well, but have a chip with commands of its own; `AirohaReceiver` configures most of them.
///
/// The answer to a command has the command's name: `PQTMCFGFIXRATE,OK`, `PQTMCFGFIXRATE,OK,1000` or
/// `PQTMCFGFIXRATE,ERROR,3` (1 wrong parameters, 2 failed, 3 unknown command). Source: LG290P(03)&LGx80P(03) GNSS
/// protocol specification 1.1. The settings that take effect only after a restart were found by others with an LG290P
/// (satpulse, firmware R02A01S; SparkFun's library for the LG290P).
///
/// The receiver has no sleep mode that a command starts and bytes end, so only its supply saves power.
struct QuectelReceiver: CommandedReceiver {
  /// The firmware with its date and time, for example `LG290P03AANR01A03S,2024/04/30,10:53:07`.
  let firmware: String
  private var uniqueID: String?

  private init(firmware: String) { self.firmware = firmware }

  var driver: ReceiverDriver { .quectel }
  var name: String { "Quectel \(firmware.prefix { $0 != "," })" }
  var identity: ReceiverIdentity {
    var identity = ReceiverIdentity(driver: .quectel, software: firmware)
    identity.uniqueID = uniqueID
    return identity
  }

  private static let version = request("PQTMVERNO")

  /// The names of the modules that take no other commands.
  private static let modules = ["LG29", "LG580P", "LG680P"]

  /// Whether the firmware belongs to a module that takes no other commands.
  static func isOf(_ firmware: some StringProtocol) -> Bool { modules.contains { firmware.hasPrefix($0) } }

  /// Asks for the identity. Returns `nil` if no such receiver answers.
  static func identify(_ channel: CommandChannel, tries: Int) throws(HardwareError) -> (any CommandedReceiver)? {
    guard case .answered(let text) = try channel.ask(version, tries: tries) else { return nil }
    let firmware = String(decoding: text, as: UTF8.self)
    // The board file may name the maker of a module with Airoha's chip.
    return isOf(firmware)
      ? QuectelReceiver(firmware: firmware) : try AirohaReceiver.identify(channel, tries: tries)
  }

  mutating func askForUniqueID(_ channel: CommandChannel) throws(HardwareError) {
    // The answer is the length of the number, and the number.
    guard case .answered(let text) = try channel.ask(QuectelReceiver.request("PQTMUNIQID"), tries: 1) else { return }
    uniqueID = String(decoding: text, as: UTF8.self).split(separator: ",").last.map(String.init)
  }

  /// A command, or a question. Reading and writing a setting have the same name in their answers, but only reading is
  /// answered with values.
  static func request(_ body: String) -> SentenceRequest {
    let words = body.split(separator: ",").map(String.init)
    let (writes, reads) = (words.dropFirst().first == "W", words.dropFirst().first == "R")
    return SentenceRequest(body) { fields in
      guard let first = fields.first, first == words[0], fields.count > 1 else { return .nothing }
      switch fields[1] {
      case "ERROR": return .answer(.refused)
      case "OK" where fields.count == 2: return reads ? .nothing : .answer(.accepted)
      // A line that is connected to itself returns the command.
      case "R" where reads: return .nothing
      case _ where writes: return .nothing
      default:
        let values = fields.dropFirst(fields[1] == "OK" ? 2 : 1)
        return .answer(.answered(Array(values.joined(separator: ",").utf8)))
      }
    }
  }

  // MARK: Settings

  mutating func configure(
    _ settings: ReceiverSettings, _ channel: CommandChannel, _ report: inout SettingReport
  ) throws(HardwareError) {
    if let speed = settings.speed, speed != channel.speed {
      let command = SentenceWriter.make("PQTMCFGUART,W,\(speed.rawValue)")
      report.note(
        "setSpeed",
        try channel.changeSpeed(to: speed, saying: Array(command.utf8), asking: QuectelReceiver.version))
    }
    if let messages = settings.messages, !report.isHopeless {
      report.note("messages", messages == .nmea ? try chooseSentences(channel) : .refused)
    }
    var changes = Changes(of: identity.uniqueID ?? firmware, isSaved: settings.saves)
    if let constellations = settings.constellations {
      let order: [ReceiverSettings.Constellation] = [.gps, .glonass, .galileo, .beidou, .qzss]
      let flags = order.map { constellations.contains($0) ? "1" : "0" }
      try changes.set("constellations", "PQTMCFGCNST", channel, &report) { present in
        // NavIC stays as it is.
        (flags + present.split(separator: ",").dropFirst(flags.count).map(String.init)).joined(separator: ",")
      }
    }
    if let model = settings.dynamicModel, !report.isHopeless {
      if let number = model.quectelNumber {
        try changes.set("dynamicModel", "PQTMCFGNAVMODE", channel, &report) { _ in "\(number)" }
      } else {
        report.note("dynamicModel", .refused)
      }
    }
    if let milliseconds = settings.milliseconds {
      try changes.set("rateHz", "PQTMCFGFIXRATE", channel, &report) { _ in "\(milliseconds)" }
    }
    guard settings.saves, !report.isHopeless, !changes.areAllInVain else { return }
    let saved = try channel.ask(QuectelReceiver.request("PQTMSAVEPAR"), within: .seconds(5), tries: 1)
    report.note("saves", saved)
    guard saved.isGood, !changes.made.isEmpty else { return }
    report.savedChanges.formUnion(changes.made)
    report.note("saves", try restart(channel))
  }

  /// Switches on the sentences that the hub uses. The errors are in GST, which firmware before R01A04S lacks.
  private func chooseSentences(_ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer {
    for sentence in ["GGA", "GSA", "GSV", "RMC"] {
      let answer = try channel.ask(QuectelReceiver.request("PQTMCFGMSGRATE,W,\(sentence),1"))
      guard answer.isGood else { return answer }
    }
    // Modules with one antenna refuse the heading.
    if !firmware.hasPrefix("LG29") {
      _ = try channel.ask(QuectelReceiver.request("PQTMCFGMSGRATE,W,PQTMTAR,1,1"), tries: 1)
    }
    let answer = try channel.ask(QuectelReceiver.request("PQTMCFGMSGRATE,W,GST,1"))
    return answer == .refused
      ? try channel.ask(QuectelReceiver.request("PQTMCFGMSGRATE,W,PQTMEPE,1,2")) : answer
  }

  /// Restarts the receiver with its saved settings, and waits for it.
  private func restart(_ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer {
    try channel.say(Array(SentenceWriter.make("PQTMSRR").utf8))
    // The receiver answers again after up to 15 s.
    try channel.listen(for: .seconds(1))
    return try channel.ask(QuectelReceiver.version, tries: 12)
  }

  mutating func restore(_ channel: CommandChannel) {}

  func sleep(_ sleep: ReceiverSleep, _ channel: CommandChannel) {}

  func wakingBytes(from sleep: ReceiverSleep) -> [UInt8]? { nil }

  func restart(_ restart: ReceiverRestart, _ channel: CommandChannel) throws(HardwareError) {
    let name = restart == .hot ? "PQTMHOT" : restart == .warm ? "PQTMWARM" : "PQTMCOLD"
    try channel.say(Array(SentenceWriter.make(name).utf8))
  }

  func forgetsSettings(in sleep: ReceiverSleep) -> Bool { true }
}

/// The changed settings that take effect when the receiver restarts, and only if it has saved them before.
private struct Changes {
  private let receiver: String
  private let isSaved: Bool
  /// The written settings, in the form of `SettingReport.savedChanges`.
  private(set) var made: Set<String> = []
  private var isAnyInVain = false

  /// - Parameters:
  ///   - receiver: the receiver's unique number, or a name of its model
  ///   - isSaved: whether the receiver saves its settings
  init(of receiver: String, isSaved: Bool) {
    self.receiver = receiver
    self.isSaved = isSaved
  }

  /// Whether saving is pointless, because the receiver did not keep the only settings that differ.
  var areAllInVain: Bool { isAnyInVain && made.isEmpty }

  /// Writes a setting, unless the receiver has it already. Without saving, a change would have no effect, so nothing
  /// is written. If the receiver saved this change before and has lost it, another attempt would only delay each start.
  ///
  /// - Parameters:
  ///   - key: the setting's key in the board file
  ///   - name: the name of the command
  ///   - wanted: returns the wanted values for the present values
  mutating func set(
    _ key: String, _ name: String, _ channel: CommandChannel, _ report: inout SettingReport,
    _ wanted: (String) -> String
  ) throws(HardwareError) {
    guard !report.isHopeless else { return }
    let answer = try channel.ask(QuectelReceiver.request("\(name),R"))
    guard case .answered(let values) = answer else { return report.note(key, answer) }
    let present = String(decoding: values, as: UTF8.self)
    let new = wanted(present)
    if new == present { return report.note(key, .accepted) }
    guard isSaved else {
      return report.lacks(
        key, "this receiver must save it and restart, for which the hub needs 'saves: true'; it has \(present)")
    }
    let change = "\(receiver) \(name) \(new)"
    if report.savedChanges.contains(change) {
      isAnyInVain = true
      return report.lacks(
        key,
        "the receiver accepted and saved it, but did not keep it, and has \(present): remove the key, or restart the "
          + "hub to try again")
    }
    let result = try channel.ask(QuectelReceiver.request("\(name),W,\(new)"))
    report.note(key, result)
    if result.isGood { made.insert(change) }
  }
}

extension ReceiverSettings.DynamicModel {
  /// The number of the model in PQTMCFGNAVMODE, which older firmware lacks.
  fileprivate var quectelNumber: Int? {
    switch self {
    case .portable, .automotive: 0
    case .airborne1g, .airborne2g, .airborne4g: 5
    case .stationary, .pedestrian, .sea, .wrist, .bike: nil
    }
  }
}
