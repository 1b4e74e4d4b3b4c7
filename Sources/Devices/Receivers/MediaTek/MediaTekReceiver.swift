import HardwareIO
import MonotonicTime
import NMEA

/// A receiver with a MediaTek chip (MT3329, 3333, 3339). The receiver takes commands in PMTK sentences, and
/// acknowledges each with a PMTK001.
///
/// The receiver keeps its settings only in RAM.
struct MediaTekReceiver: CommandedReceiver {
  /// The firmware as the receiver states it, with build and model, for example
  /// `AXN_5.1.6_3333_19010218,0007,Quectel-L76L,1.0`.
  let firmware: String

  var driver: ReceiverDriver { .mediatek }
  var name: String { "MediaTek \(firmware.prefix { $0 != "," })" }
  var identity: ReceiverIdentity { ReceiverIdentity(driver: .mediatek, software: firmware) }

  private static let version = SentenceRequest.question("PMTK605", answeredBy: "PMTK705")

  /// Asks for the identity. Returns `nil` if no such receiver answers.
  static func identify(_ channel: CommandChannel, tries: Int) throws(HardwareError) -> MediaTekReceiver? {
    guard case .answered(let text) = try channel.ask(version, tries: tries) else { return nil }
    return MediaTekReceiver(firmware: String(decoding: text, as: UTF8.self))
  }

  /// A command whose result is a flag: 0 invalid, 1 unsupported, 2 failed, 3 done.
  static func command(_ number: String, _ parameters: String) -> SentenceRequest {
    SentenceRequest("PMTK\(number),\(parameters)") { fields in
      guard fields.first == "PMTK001", fields.count > 2 else { return .nothing }
      guard fields[1] == number else { return .soFar(.otherwise("the result of command \(fields[1])")) }
      return .answer(fields[2] == "3" ? .accepted : .refused)
    }
  }

  mutating func configure(
    _ settings: ReceiverSettings, _ channel: CommandChannel, _ report: inout SettingReport
  ) throws(HardwareError) {
    if let speed = settings.speed, speed != channel.speed {
      let command = SentenceWriter.make("PMTK251,\(speed.rawValue)")
      report.note(
        "setSpeed",
        try channel.changeSpeed(to: speed, saying: Array(command.utf8), asking: MediaTekReceiver.version))
    }
    // A change of the constellations restarts the receiver, which may lose other settings. Send the constellations
    // first.
    if let constellations = settings.constellations, !report.isHopeless {
      report.note("constellations", try set(constellations, channel))
    }
    if let mode = settings.powerMode, !report.isHopeless {
      switch mode {
      case .full: report.note("powerMode", try channel.ask(MediaTekReceiver.command("225", "0")))
      case .balanced: report.note("powerMode", .refused)
      case .saving: report.note("powerMode", try channel.ask(MediaTekReceiver.command("225", "8")))
      }
    }
    if let milliseconds = settings.milliseconds, !report.isHopeless {
      report.note("rateHz", try channel.ask(MediaTekReceiver.command("220", "\(milliseconds)")))
    }
  }

  private func set(
    _ constellations: [ReceiverSettings.Constellation], _ channel: CommandChannel
  ) throws(HardwareError) -> ReceiverAnswer {
    // The fourth flag is Galileo's full mode, which the receivers lack.
    let order: [ReceiverSettings.Constellation?] = [.gps, .glonass, .galileo, nil, .beidou]
    let flags = order.map { $0.map(constellations.contains) == true ? "1" : "0" }.joined(separator: ",")
    var answer = try channel.ask(MediaTekReceiver.command("353", flags))
    // Wait until the receiver has restarted.
    try channel.listen(for: .seconds(1))
    if answer.isGood, constellations.contains(.sbas) {
      answer = try channel.ask(MediaTekReceiver.command("313", "1"))
    }
    // In this command, 0 means on.
    if answer.isGood, constellations.contains(.qzss) {
      answer = try channel.ask(MediaTekReceiver.command("352", "0"))
    }
    return answer
  }

  mutating func restore(_ channel: CommandChannel) {}

  func sleep(_ sleep: ReceiverSleep, _ channel: CommandChannel) throws(HardwareError) {
    try channel.say(Array(SentenceWriter.make(sleep == .standby ? "PMTK161,0" : "PMTK225,4").utf8))
  }

  /// The bytes to send to a receiver in standby; any byte wakes it. From backup, only its pin FORCE_ON or its supply
  /// wakes it.
  static let wakingBytes: [UInt8] = [UInt8(ascii: "\r"), UInt8(ascii: "\n")]

  func wakingBytes(from sleep: ReceiverSleep) -> [UInt8]? {
    sleep == .standby ? MediaTekReceiver.wakingBytes : nil
  }

  func restart(_ restart: ReceiverRestart, _ channel: CommandChannel) throws(HardwareError) {
    let number = restart == .hot ? "101" : restart == .warm ? "102" : "103"
    try channel.say(Array(SentenceWriter.make("PMTK\(number)").utf8))
  }

  func forgetsSettings(in sleep: ReceiverSleep) -> Bool { true }

  /// The largest sigma at which a position is useful (PMTK command packet, PMTK741).
  private static let mostPlaceSigmaMetres = 30_000.0

  /// Sends the time, and the position if its sigma is small enough. If the time is unknown, nothing is sent. The
  /// receiver cannot report its satellite data.
  func giveBack(_ knowledge: GivenKnowledge, _ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer {
    guard let time = knowledge.time else { return .accepted }
    // The time is rounded to the nearest second.
    let now = time.utc(at: channel.now + .milliseconds(500)).components
    let fields = [Int(now.date.month), Int(now.date.day), now.hour, now.minute, now.second]
    let date = "\(now.date.year)," + fields.map { SentenceField.padded($0, 2) }.joined(separator: ",")
    guard let place = knowledge.place, place.sigmaMetres <= MediaTekReceiver.mostPlaceSigmaMetres else {
      return try channel.ask(MediaTekReceiver.command("740", date), tries: 1)
    }
    let position = [
      SentenceField.fixed(place.latitudeDegrees, 6), SentenceField.fixed(place.longitudeDegrees, 6),
      SentenceField.fixed(place.altitudeHAEMetres ?? 0, 0),
    ]
    return try channel.ask(
      MediaTekReceiver.command("741", position.joined(separator: ",") + ",\(date)"), tries: 1)
  }
}
