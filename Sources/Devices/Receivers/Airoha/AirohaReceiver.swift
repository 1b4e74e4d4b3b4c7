import HardwareIO
import NMEA

/// A receiver with an Airoha chip (AG3335, AG3352; Quectel's LC76G, LC86G, LC29H). The receiver takes commands in PAIR
/// sentences, and acknowledges each with a PAIR001.
struct AirohaReceiver: CommandedReceiver {
  /// The complete version text of the firmware, for example `AG3335M_V2.5.0.AG3335_20220408,S,N`.
  let firmware: String

  var driver: ReceiverDriver { .airoha }
  var name: String { "Airoha \(firmware.prefix { $0 != "," })" }
  var identity: ReceiverIdentity { ReceiverIdentity(driver: .airoha, software: firmware) }

  private static let version = SentenceRequest.question("PAIR021", answeredBy: "PAIR021")

  /// Asks for the identity. Returns `nil` if no such receiver answers.
  static func identify(_ channel: CommandChannel, tries: Int) throws(HardwareError) -> AirohaReceiver? {
    guard case .answered(let text) = try channel.ask(version, tries: tries) else { return nil }
    return AirohaReceiver(firmware: String(decoding: text, as: UTF8.self))
  }

  /// A command and its result; 0 is success. Some commands first report 1, which means that they are in progress.
  static func command(_ number: String, _ parameters: String = "") -> SentenceRequest {
    SentenceRequest("PAIR\(number)" + (parameters.isEmpty ? "" : ",\(parameters)")) { fields in
      guard fields.first == "PAIR001", fields.count > 2 else { return .nothing }
      guard fields[1] == number else { return .soFar(.otherwise("the result of command \(fields[1])")) }
      return switch fields[2] {
      case "0": .answer(.accepted)
      case "1": .soFar(.refused)
      default: .answer(.refused)
      }
    }
  }

  mutating func configure(
    _ settings: ReceiverSettings, _ channel: CommandChannel, _ report: inout SettingReport
  ) throws(HardwareError) {
    // After standby the receiving part is off. A receiver that is already on accepts the command as well.
    _ = try channel.ask(AirohaReceiver.command("002"))
    if let speed = settings.speed, speed != channel.speed {
      let command = SentenceWriter.make("PAIR864,0,0,\(speed.rawValue)")
      report.note(
        "setSpeed", try channel.changeSpeed(to: speed, saying: Array(command.utf8), asking: AirohaReceiver.version))
    }
    if let constellations = settings.constellations, !report.isHopeless {
      let order: [ReceiverSettings.Constellation] = [.gps, .glonass, .galileo, .beidou, .qzss]
      let flags = order.map { constellations.contains($0) ? "1" : "0" }.joined(separator: ",")
      var answer = try channel.ask(AirohaReceiver.command("066", "\(flags),0"))
      if answer.isGood, constellations.contains(.sbas) {
        answer = try channel.ask(AirohaReceiver.command("410", "1"))
      }
      report.note("constellations", answer)
    }
    if let model = settings.dynamicModel, !report.isHopeless {
      report.note(
        "dynamicModel",
        try model.airohaNumber.map { (number) throws(HardwareError) in
          try channel.ask(AirohaReceiver.command("080", "\(number)"))
        } ?? .refused)
    }
    if let milliseconds = settings.milliseconds, !report.isHopeless {
      report.note("rateHz", try channel.ask(AirohaReceiver.command("050", "\(milliseconds)")))
    }
    if settings.saves, !report.isHopeless { report.note("saves", try save(channel)) }
  }

  /// Saves the settings. At rates above 1 Hz, the receiver saves only while its receiving part is off.
  private func save(_ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer {
    var answer = try channel.ask(AirohaReceiver.command("382", "1"))
    if answer.isGood {
      answer = try channel.ask(AirohaReceiver.command("003"))
      if answer.isGood { answer = try channel.ask(AirohaReceiver.command("513")) }
      // A command takes effect although its answer is lost, or the reader stops before it comes. The receiving part
      // would then stay off, and the next start would hear nothing.
      let started = try channel.ask(AirohaReceiver.command("002"))
      if answer.isGood { answer = started }
    }
    _ = try channel.ask(AirohaReceiver.command("382", "0"))
    return answer
  }

  mutating func restore(_ channel: CommandChannel) {}

  func sleep(_ sleep: ReceiverSleep, _ channel: CommandChannel) throws(HardwareError) {
    // The result of the command is not evaluated, because the silence after it shows whether the receiver sleeps.
    if sleep == .standby {
      _ = try channel.ask(AirohaReceiver.command("003"))
    } else {
      try channel.say(Array(SentenceWriter.make("PAIR650,0").utf8))
    }
  }

  /// The command that switches the receiving part on. It has no effect in backup, in which no part of the receiver
  /// reads commands.
  static let wakingBytes = Array(SentenceWriter.make("PAIR002").utf8)

  func wakingBytes(from sleep: ReceiverSleep) -> [UInt8]? {
    sleep == .standby ? AirohaReceiver.wakingBytes : nil
  }

  func restart(_ restart: ReceiverRestart, _ channel: CommandChannel) throws(HardwareError) {
    let number = restart == .hot ? "004" : restart == .warm ? "005" : "006"
    try channel.say(Array(SentenceWriter.make("PAIR\(number)").utf8))
  }

  func forgetsSettings(in sleep: ReceiverSleep) -> Bool { sleep != .standby }
}

extension ReceiverSettings.DynamicModel {
  /// The number of the model in PAIR080.
  fileprivate var airohaNumber: Int? {
    switch self {
    case .portable, .automotive: 0
    case .pedestrian: 1
    case .stationary: 4
    case .airborne1g, .airborne2g, .airborne4g: 5
    case .sea, .wrist, .bike: nil
    }
  }
}
