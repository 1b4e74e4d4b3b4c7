import HardwareIO
import NMEA

/// A high-precision receiver from Unicore (UM980, UM982 and others with a Nebulas IV). It takes commands as lines of
/// words, and repeats each of them in its answer: `$command,GPGGA 0.2,response: OK*hh`.
///
/// The commands are from Unicore's N4 Products Commands and Logs Reference Book, R1.4. It has no command for a sleep
/// mode, so only the supply saves power.
struct UnicoreReceiver: CommandedReceiver {
  let version: UnicoreVersion
  /// Whether the receiver takes only commands with a checksum (`CONFIG CMDFORMAT 1`).
  let wantsChecksums: Bool

  var driver: ReceiverDriver { .unicore }
  var name: String { "Unicore \(version.model) \(version.firmware)" }

  var identity: ReceiverIdentity {
    var identity = ReceiverIdentity(driver: .unicore, software: version.firmware, hardware: version.model)
    identity.uniqueID = version.chipID
    return identity
  }

  /// Whether the receiver has two antennas, and states the direction from one to the other.
  private var hasTwoAntennas: Bool { version.model.contains("982") }

  /// Asks for the identity, in the usual form of commands and, unless `tries` is 1, also with a checksum. Returns `nil`
  /// if no such receiver answers.
  static func identify(_ channel: CommandChannel, tries: Int) throws(HardwareError) -> UnicoreReceiver? {
    for wantsChecksums in tries > 1 ? [false, true] : [false] {
      let answer = try channel.ask(UnicoreRequest.version(wantsChecksums), tries: wantsChecksums ? 1 : tries)
      guard case .answered(let text) = answer else { continue }
      let parts = String(decoding: text, as: UTF8.self).split(separator: ",", omittingEmptySubsequences: false)
      guard parts.count == 3 else { continue }
      let chipID = parts[2].isEmpty ? nil : String(parts[2])
      let version = UnicoreVersion(model: String(parts[0]), firmware: String(parts[1]), chipID: chipID)
      return UnicoreReceiver(version: version, wantsChecksums: wantsChecksums)
    }
    return nil
  }

  /// Requests for the version in both forms. The answer shows the speed of a receiver that sends nothing else.
  static let question = UnicoreRequest.version(false).bytes + UnicoreRequest.version(true).bytes

  private func ask(_ command: String, _ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer {
    try channel.ask(UnicoreRequest(command, wantsChecksums))
  }

  /// Sends commands until one is not accepted. Returns the last answer.
  private func ask(_ commands: [String], _ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer {
    for command in commands {
      let answer = try ask(command, channel)
      if !answer.isGood { return answer }
    }
    return .accepted
  }

  mutating func configure(
    _ settings: ReceiverSettings, _ channel: CommandChannel, _ report: inout SettingReport
  ) throws(HardwareError) {
    if let speed = settings.speed, speed != channel.speed { report.note("setSpeed", try setSpeed(speed, channel)) }
    if let constellations = settings.constellations, !report.isHopeless {
      report.note("constellations", try ask(UnicoreReceiver.commands(for: constellations), channel))
    }
    if let model = settings.dynamicModel, !report.isHopeless {
      let answer = try model.unicoreMode.map { (mode) throws(HardwareError) in try ask("MODE ROVER\(mode)", channel) }
      report.note("dynamicModel", answer ?? .refused)
    }
    if settings.messages == .ubx { report.lacks("messages", "this receiver has no 'ubx': set 'nmea'") }
    if settings.messages == .nmea || settings.rateHz != nil, !report.isHopeless {
      let period = UnicoreReceiver.period(milliseconds: settings.milliseconds ?? 1000)
      if period == nil { report.lacks("rateHz", "this receiver has 1, 2, 5, 10 and 20 Hz: set one of these") }
      let replacesAll = settings.messages == .nmea
      if period != nil || replacesAll {
        let answer = try chooseSentences(every: period ?? "1", channel, replacingAll: replacesAll)
        report.note(settings.rateHz == nil ? "messages" : "rateHz", answer)
        // A saved selection without sentences would leave the receiver silent at each later start.
        if replacesAll, !answer.isGood, settings.saves, !report.isHopeless {
          return report.lacks("saves", "the hub saves nothing until the receiver accepts all sentences")
        }
      }
    }
    if settings.saves, !report.isHopeless { report.note("saves", try ask("SAVECONFIG", channel)) }
  }

  /// Requests the sentences that the hub reads. If the receiver refuses one of them, continues with the others.
  ///
  /// - Parameter replacesAll: whether to stop all other output first. After that, a sentence that the receiver refuses
  ///   is requested once a second, so that the receiver does not stay silent
  private func chooseSentences(
    every period: String, _ channel: CommandChannel, replacingAll replacesAll: Bool
  ) throws(HardwareError) -> ReceiverAnswer {
    var result = try replacesAll ? ask("UNLOG", channel) : .accepted
    guard result.isGood else { return result }
    for (sentence, period) in sentences(every: period) {
      let answer = try ask("\(sentence) \(period)", channel)
      if !answer.isGood { result = answer }
      if answer == .refused, replacesAll, period != "1" {
        _ = try ask("\(sentence) 1", channel)
      } else if !answer.isGood, answer != .refused {
        return answer
      }
    }
    return result
  }

  /// The commands that select the satellites. They leave NavIC as it is.
  private static func commands(for constellations: [ReceiverSettings.Constellation]) -> [String] {
    let systems: [(ReceiverSettings.Constellation, String)] = [
      (.gps, "GPS"), (.glonass, "GLO"), (.galileo, "GAL"), (.beidou, "BDS"), (.qzss, "QZSS"),
    ]
    let masks = systems.map { constellations.contains($0) ? "UNMASK \($1)" : "MASK \($1)" }
    return masks + ["CONFIG SBAS \(constellations.contains(.sbas) ? "ENABLE AUTO" : "DISABLE")"]
  }

  /// The parameter for an interval of sentences, in seconds; `nil` if the receiver has no such rate. Longer intervals
  /// than a second are whole seconds.
  static func period(milliseconds: UInt16) -> String? {
    switch milliseconds {
    case 500: "0.5"
    case 200: "0.2"
    case 100: "0.1"
    case 50: "0.05"
    case let milliseconds where milliseconds >= 1000 && milliseconds % 1000 == 0: "\(milliseconds / 1000)"
    default: nil
    }
  }

  /// The sentences that the hub reads, and their intervals. The satellites in view are reported once a second at most,
  /// because the list has many sentences.
  private func sentences(every period: String) -> [(String, String)] {
    let fast = ["GPGGA", "GPRMC", "GPGSA", "GPGST"] + (hasTwoAntennas ? ["UNIHEADINGA"] : [])
    return fast.map { ($0, period) } + [("GPGSV", period.hasPrefix("0") ? "1" : period)]
  }

  /// Sets the speed of the port that the receiver is connected with. The command needs the name of the port. A version
  /// that is requested for a port arrives there only.
  private func setSpeed(_ speed: BaudRate, _ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer {
    guard speed != .b4800 else { return .refused }
    // A late version, requested without a port, would count for a port that the receiver is not connected with.
    try channel.listen(for: .milliseconds(300))
    for port in ["COM1", "COM2", "COM3"] {
      let answer = try channel.ask(UnicoreRequest.version(wantsChecksums, for: port), tries: 1)
      if answer == .stopped { return answer }
      guard case .answered = answer else { continue }
      let command = UnicoreRequest("CONFIG \(port) \(speed.rawValue)", wantsChecksums)
      return try channel.changeSpeed(to: speed, saying: command.bytes, asking: UnicoreRequest.version(wantsChecksums))
    }
    return .otherwise("no name of its port")
  }

  mutating func restore(_ channel: CommandChannel) {}

  /// Does nothing, because the receiver has no sleep mode. `ReceiverDriver.sleeps` lists none.
  func sleep(_ sleep: ReceiverSleep, _ channel: CommandChannel) {}

  func wakingBytes(from sleep: ReceiverSleep) -> [UInt8]? { nil }

  func restart(_ restart: ReceiverRestart, _ channel: CommandChannel) throws(HardwareError) {
    let data = restart == .hot ? "" : restart == .warm ? " EPHEM" : " ALL"
    try channel.say(UnicoreRequest("RESET\(data)", wantsChecksums).bytes)
  }

  func forgetsSettings(in sleep: ReceiverSleep) -> Bool { true }
}

/// A command, and its answer: `$command,WORDS,response: OK*hh`. After `response` the receiver says why it refuses a
/// command, for example `PARSING FAILD NO MATCHING FUNC`. The reason may contain commas, and the refused command is in
/// some answers only at its end: `$command,response: PARSING FAILD NO MATCHING FUNC WORDS*hh`.
struct UnicoreRequest: ReceiverRequest {
  let bytes: [UInt8]
  let subject: String
  private let command: String
  /// Whether the log VERSIONA follows the answer.
  private let asksForVersion: Bool
  private var isAccepted = false
  private(set) var answerSoFar = ReceiverAnswer.unanswered

  init(_ command: String, _ hasChecksum: Bool) { self.init(command, hasChecksum, asksForVersion: false) }

  private init(_ command: String, _ hasChecksum: Bool, asksForVersion: Bool) {
    // A line end before the version ends the bytes of another protocol that the receiver has taken for a command.
    let start = asksForVersion ? "\r\n" : ""
    bytes = Array((start + (hasChecksum ? SentenceWriter.make(command) : command + "\r\n")).utf8)
    // The answer repeats the whole command, so two different commands have different answers.
    subject = hasChecksum ? "$\(command)" : command
    self.command = command
    self.asksForVersion = asksForVersion
  }

  /// A request for the version; the answer is the model, the firmware and the chip's number, separated by commas.
  ///
  /// - Parameter port: the port to which the receiver sends the version; `nil` for the port of the request
  static func version(_ hasChecksum: Bool, for port: String? = nil) -> UnicoreRequest {
    UnicoreRequest(port.map { "VERSIONA \($0)" } ?? "VERSIONA", hasChecksum, asksForVersion: true)
  }

  mutating func take(_ frame: ReceiverFramer.Frame) -> ReceiverAnswer? {
    guard case .sentence(let raw) = frame else { return nil }
    if asksForVersion, isAccepted, let version = UnicoreVersion(raw) {
      return .answered(Array("\(version.model),\(version.firmware),\(version.chipID ?? "")".utf8))
    }
    let text = String(decoding: raw.bytes, as: UTF8.self)
    guard text.hasPrefix("$command,") else { return nil }
    let fields = text.dropFirst(9).prefix { $0 != "*" }.split(separator: ",", omittingEmptySubsequences: false)
    guard let end = fields.firstIndex(where: { $0.hasPrefix("response") }) else { return nil }
    let result = fields[end...].joined(separator: ",").uppercased()
    let isRefusedByEnd = end == 0 && result.hasSuffix(" \(command)")
    guard isRefusedByEnd || fields[..<end].joined(separator: ",").uppercased() == command else {
      answerSoFar = .otherwise("the result of another command")
      return nil
    }
    guard result.filter({ $0 != " " }) == "RESPONSE:OK" else { return .refused }
    isAccepted = true
    return asksForVersion ? nil : .accepted
  }
}

extension ReceiverSettings.DynamicModel {
  /// The end of the command MODE ROVER for the model. Without an end, the receiver takes the mode of its maker: survey
  /// on a UM980, aircraft on a UM982.
  fileprivate var unicoreMode: String? {
    switch self {
    case .portable: ""
    case .stationary, .pedestrian: " SURVEY"
    case .automotive: " AUTOMOTIVE"
    case .airborne1g, .airborne2g: " UAV"
    case .airborne4g: " UAV HIGHDYN"
    case .sea, .wrist, .bike: nil
    }
  }
}
