import HardwareIO
import MonotonicTime
import NMEA
import UBX

/// A receiver with the CASIC protocol (chip AT6558: ATGM336H, L76K). It acknowledges CASIC messages, but not PCAS
/// sentences.
struct CASICReceiver: CommandedReceiver {
  /// The firmware, for example `URANUS5,V5.1.0.0`.
  let firmware: String

  var driver: ReceiverDriver { .casic }
  var name: String { "CASIC \(firmware)" }
  var identity: ReceiverIdentity { ReceiverIdentity(driver: .casic, software: firmware) }

  /// A request for the version. The answer is a text: `$GPTXT,01,01,02,SW=URANUS5,V5.1.0.0*1F`.
  private static let version = SentenceRequest("PCAS06,0") { fields in
    guard let first = fields.first, first.hasSuffix("TXT"), fields.count > 4, fields[4].hasPrefix("SW=") else {
      return .nothing
    }
    return .answer(.answered(Array(fields[4...].joined(separator: ",").dropFirst(3).utf8)))
  }

  /// Asks for the identity. Returns `nil` if no such receiver answers.
  static func identify(_ channel: CommandChannel, tries: Int) throws(HardwareError) -> CASICReceiver? {
    guard case .answered(let text) = try channel.ask(version, tries: tries) else { return nil }
    return CASICReceiver(firmware: String(decoding: text, as: UTF8.self))
  }

  mutating func configure(
    _ settings: ReceiverSettings, _ channel: CommandChannel, _ report: inout SettingReport
  ) throws(HardwareError) {
    if let speed = settings.speed, speed != channel.speed {
      let numbers: [BaudRate] = [.b4800, .b9600, .b19200, .b38400, .b57600, .b115200]
      let answer = try numbers.firstIndex(of: speed).map { (number) throws(HardwareError) in
        let command = SentenceWriter.make("PCAS01,\(number)")
        return try channel.changeSpeed(to: speed, saying: Array(command.utf8), asking: CASICReceiver.version)
      }
      report.note("setSpeed", answer ?? .refused)
    }
    if let constellations = settings.constellations, !report.isHopeless {
      let order: [ReceiverSettings.Constellation] = [.gps, .beidou, .glonass]
      var systems: UInt8 = 0
      for (bit, system) in order.enumerated() where constellations.contains(system) { systems |= 1 << UInt8(bit) }
      let lacking = constellations.filter { !order.contains($0) }.map(\.rawValue).joined(separator: ", ")
      if lacking.isEmpty {
        report.note("constellations", try channel.ask(CASICRequest(.systems(systems))))
      } else {
        report.lacks("constellations", "this receiver has no \(lacking): remove it")
      }
    }
    if let model = settings.dynamicModel, !report.isHopeless {
      report.note(
        "dynamicModel",
        try model.casicNumber.map { (number) throws(HardwareError) in
          try channel.ask(CASICRequest(.dynamicModel(number)))
        } ?? .refused)
    }
    if let milliseconds = settings.milliseconds, !report.isHopeless {
      report.note("rateHz", try channel.ask(CASICRequest(.rate(milliseconds: milliseconds))))
    }
    if settings.saves, !report.isHopeless { report.note("saves", try channel.ask(CASICRequest(.save))) }
  }

  mutating func restore(_ channel: CommandChannel) {}

  /// The longest sleep in seconds, 18 hours. After this time the receiver wakes by itself.
  private static let longestSleepSeconds = 65_535

  func sleep(_ sleep: ReceiverSleep, _ channel: CommandChannel) throws(HardwareError) {
    try channel.say(Array(SentenceWriter.make("PCAS12,\(CASICReceiver.longestSleepSeconds)").utf8))
  }

  func longestSleep(in sleep: ReceiverSleep) -> Duration? { .seconds(CASICReceiver.longestSleepSeconds) }

  /// No bytes wake the receiver. It leaves standby when the time that the command states is over, and ignores all bytes
  /// until then.
  func wakingBytes(from sleep: ReceiverSleep) -> [UInt8]? { nil }

  func restart(_ restart: ReceiverRestart, _ channel: CommandChannel) throws(HardwareError) {
    let number = restart == .hot ? "0" : restart == .warm ? "1" : "2"
    try channel.say(Array(SentenceWriter.make("PCAS10,\(number)").utf8))
  }

  func forgetsSettings(in sleep: ReceiverSleep) -> Bool { true }

  /// The difference between GPS time and UTC since 2017. If a leap second changes the difference, the time is wrong by
  /// 1 s, which is within the accuracy that the hub states with the time.
  private static let leapSeconds: Int64 = 18
  private static let gpsEpoch: Int64 = 315_964_800

  /// Sends the time and the position. The receiver does not acknowledge them, and cannot report its satellite data.
  func giveBack(_ knowledge: GivenKnowledge, _ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer {
    var known = CASICMessage.Assistance()
    if let time = knowledge.time {
      let utc = time.utc(at: channel.now + channel.speed.time(for: 66)).nanosecondsSince1970
      let nanoseconds = utc + (CASICReceiver.leapSeconds - CASICReceiver.gpsEpoch) * 1_000_000_000
      let (week, inWeek) = nanoseconds.quotientAndRemainder(dividingBy: 604_800_000_000_000)
      known.time = (
        UInt16(clamping: week), Double(inWeek) / 1e9, (time.sigma + .seconds(1)).inSeconds
      )
    }
    if let place = knowledge.place {
      known.place = (
        place.latitudeDegrees, place.longitudeDegrees, place.altitudeHAEMetres, place.sigmaMetres
      )
    }
    if known.time != nil || known.place != nil { try channel.say(CASICMessage.assistance(known).bytes) }
    return .accepted
  }
}

/// A message that the receiver acknowledges.
private struct CASICRequest: ReceiverRequest {
  let bytes: [UInt8]
  private let kind: UInt16
  var subject: String { "CASIC \(kind)" }
  private(set) var answerSoFar = ReceiverAnswer.unanswered

  init(_ message: CASICMessage) {
    bytes = message.bytes
    kind = message.kind
  }

  mutating func take(_ frame: ReceiverFramer.Frame) -> ReceiverAnswer? {
    guard case .message(let message) = frame, let acknowledgement = CASICAcknowledgement(message) else { return nil }
    if acknowledgement.kind == kind { return acknowledgement.isAccepted ? .accepted : .refused }
    answerSoFar = .otherwise("the result of another command")
    return nil
  }
}

extension ReceiverSettings.DynamicModel {
  /// The number of the model in CFG-NAVX.
  fileprivate var casicNumber: UInt8? {
    switch self {
    case .portable: 0
    case .stationary: 1
    case .pedestrian: 2
    case .automotive: 3
    case .sea: 4
    case .airborne1g: 5
    case .airborne2g: 6
    case .airborne4g: 7
    case .wrist, .bike: nil
    }
  }
}
