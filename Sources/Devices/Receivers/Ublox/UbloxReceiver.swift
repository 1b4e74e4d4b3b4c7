import HardwareIO
import NMEA
import UBX

/// A u-blox receiver of any generation from the sixth on.
///
/// Up to protocol version 23, each subject of the settings has a message. From version 27 on, settings are keys with
/// values (u-blox M8 protocol description and u-blox F9 interface description).
struct UbloxReceiver: CommandedReceiver {
  let version: UBXVersion
  private var uniqueID: UBXUniqueID?
  private let legacy: Bool
  private var changes: any UbloxChanges

  init(_ version: UBXVersion, on port: UBXPort) {
    self.version = version
    legacy = version.protocolVersion < 2700
    changes = legacy ? UbloxLegacyChanges(version.protocolVersion) : UbloxKeyChanges(port)
  }

  /// Asks for the identity. Returns `nil` if no u-blox receiver answers.
  static func identify(_ channel: CommandChannel, tries: Int) throws(HardwareError) -> UbloxReceiver? {
    guard case .answered(let payload) = try channel.ask(UBXRequest(asking: UBXVersion.request), tries: tries),
      let version = UBXVersion(payload: payload)
    else { return nil }
    if I2CPortName(channel.portName) != nil { return UbloxReceiver(version, on: .i2c) }
    // The kernel names the port of a USB receiver like the port of a modem.
    let device = Files.resolved(channel.portName) ?? channel.portName
    return UbloxReceiver(version, on: device.hasPrefix("/dev/ttyACM") ? .usb : .uart1)
  }

  var driver: ReceiverDriver { .ublox }
  var name: String {
    let hundredths = version.protocolVersion % 100
    return "u-blox \(version.model ?? version.hardware), protocol \(version.protocolVersion / 100)."
      + (hundredths < 10 ? "0" : "") + "\(hundredths)"
  }

  var identity: ReceiverIdentity {
    var identity = ReceiverIdentity(
      driver: .ublox, software: version.software, hardware: version.hardware, extensions: version.extensions)
    identity.uniqueID = uniqueID?.text
    return identity
  }

  mutating func askForUniqueID(_ channel: CommandChannel) throws(HardwareError) {
    guard version.protocolVersion >= UBXUniqueID.leastProtocolVersion else { return }
    // A receiver without a unique number works too.
    let answer = try channel.ask(UBXRequest(asking: UBXUniqueID.request))
    if case .answered(let payload) = answer { uniqueID = UBXUniqueID(payload: payload) }
  }

  mutating func configure(
    _ settings: ReceiverSettings, _ channel: CommandChannel, _ report: inout SettingReport
  ) throws(HardwareError) {
    changes.keepsFound = settings.restores
    // The speed comes first, so that the line carries the messages that are enabled next; the rate comes last.
    if let speed = settings.speed {
      report.note("setSpeed", try changes.setSpeed(speed, channel, &report))
    }
    if let messages = settings.messages, !report.isHopeless {
      report.note("messages", try changes.setMessages(messages, version.protocolVersion, channel))
    }
    if settings.reportsCorrections, settings.messages == .ubx, !report.isHopeless {
      // Most receivers accept no corrections and do not know the message, so a refusal does not show a mistake in the
      // board file.
      let answer = try changes.setCorrectionReports(channel)
      report.note("messages", answer == .refused ? .accepted : answer)
    }
    if let constellations = settings.constellations, !report.isHopeless {
      report.note("constellations", try changes.setConstellations(constellations, channel, &report))
    }
    if let model = settings.dynamicModel, !report.isHopeless {
      report.note("dynamicModel", try changes.setDynamicModel(model, channel))
    }
    if let mode = settings.powerMode, !report.isHopeless {
      report.note("powerMode", try changes.setPowerMode(mode, channel))
    }
    if let milliseconds = settings.milliseconds, !report.isHopeless {
      report.note("rateHz", try changes.setRate(milliseconds: milliseconds, channel))
    }
    if settings.saves, !report.isHopeless { report.note("saves", try changes.save(channel)) }
  }

  mutating func restore(_ channel: CommandChannel) throws(HardwareError) { try changes.restore(channel) }

  /// The longest sleep that receivers accept. Bytes on the line wake them earlier.
  static let longestSleepMilliseconds: UInt32 = 12 * 86_400_000

  func sleep(_ sleep: ReceiverSleep, _ channel: CommandChannel) throws(HardwareError) {
    let limit = UbloxReceiver.longestSleepMilliseconds
    let backup: UBXMessage = legacy ? .backup(milliseconds: limit) : .forcedBackup(milliseconds: limit)
    try channel.say((sleep == .stop ? UBXMessage.reset(.stop) : backup).bytes)
  }

  func longestSleep(in sleep: ReceiverSleep) -> Duration? {
    sleep == .stop ? nil : .milliseconds(Int64(UbloxReceiver.longestSleepMilliseconds))
  }

  func wakingBytes(from sleep: ReceiverSleep) -> [UInt8]? {
    sleep == .stop ? UBXMessage.reset(.start).bytes : UBXMessage.wakingBytes
  }

  func restart(_ restart: ReceiverRestart, _ channel: CommandChannel) throws(HardwareError) {
    let start: UBXMessage.Start = restart == .hot ? .hot : restart == .warm ? .warm : .cold
    try channel.say(UBXMessage.restart(start).bytes)
  }

  func forgetsSettings(in sleep: ReceiverSleep) -> Bool { sleep != .stop }
}

/// Applies the settings of a board file to receivers of one generation.
protocol UbloxChanges: Sendable {
  /// Whether to keep the previous settings, so that they can be restored.
  var keepsFound: Bool { get set }

  mutating func setSpeed(
    _ speed: BaudRate, _ channel: CommandChannel, _ report: inout SettingReport
  ) throws(HardwareError) -> ReceiverAnswer
  mutating func setMessages(
    _ messages: ReceiverSettings.Messages, _ version: Int, _ channel: CommandChannel
  ) throws(HardwareError) -> ReceiverAnswer
  /// Makes the receiver report the use of its corrections. A receiver that accepts no corrections refuses.
  mutating func setCorrectionReports(_ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer
  mutating func setConstellations(
    _ constellations: [ReceiverSettings.Constellation], _ channel: CommandChannel, _ report: inout SettingReport
  ) throws(HardwareError) -> ReceiverAnswer
  mutating func setDynamicModel(
    _ model: ReceiverSettings.DynamicModel, _ channel: CommandChannel
  ) throws(HardwareError) -> ReceiverAnswer
  mutating func setPowerMode(
    _ mode: ReceiverSettings.PowerMode, _ channel: CommandChannel
  ) throws(HardwareError) -> ReceiverAnswer
  mutating func setRate(milliseconds: UInt16, _ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer
  func save(_ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer
  mutating func restore(_ channel: CommandChannel) throws(HardwareError)
}

extension ReceiverSettings.DynamicModel {
  /// The number of the model in CFG-NAV5 and CFG-NAVSPG-DYNMODEL.
  var ubloxNumber: UInt8 {
    switch self {
    case .portable: 0
    case .stationary: 2
    case .pedestrian: 3
    case .automotive: 4
    case .sea: 5
    case .airborne1g: 6
    case .airborne2g: 7
    case .airborne4g: 8
    case .wrist: 9
    case .bike: 10
    }
  }
}

/// A message that a u-blox receiver acknowledges, or answers with a message of the same kind.
struct UBXRequest: ReceiverRequest {
  let bytes: [UInt8]
  private let kind: UInt16
  var subject: String { "UBX \(kind)" }
  private let wantsMessage: Bool
  /// The first bytes of the answer, if messages of its kind have several meanings.
  private let prefix: [UInt8]
  private var payload: [UInt8]?
  private var strange: String?

  /// A request that changes a setting.
  init(setting message: UBXMessage) { self.init(message, wantsMessage: false) }

  /// A request for a value.
  ///
  /// - Parameter prefix: the first bytes of the answer, if messages of its kind have several meanings
  init(asking message: UBXMessage, prefix: [UInt8] = []) { self.init(message, wantsMessage: true, prefix: prefix) }

  private init(_ message: UBXMessage, wantsMessage: Bool, prefix: [UInt8] = []) {
    bytes = message.bytes
    kind = message.kind
    self.wantsMessage = wantsMessage
    self.prefix = prefix
  }

  mutating func take(_ frame: ReceiverFramer.Frame) -> ReceiverAnswer? {
    guard case .message(let message) = frame, message.format == .ubx else { return nil }
    if let acknowledgement = UBXAcknowledgement(message) { return take(acknowledgement) }
    guard wantsMessage, message.kind == kind else { return nil }
    let answer = message.payloadCopy
    // An echo of the question is not an answer.
    guard !answer.isEmpty, answer.starts(with: prefix) else { return nil }
    payload = answer
    // An acknowledgement follows an answer about settings. Wait for it, so that it does not count for a later command.
    return kind >> 8 == 0x06 ? nil : .answered(answer)
  }

  private mutating func take(_ acknowledgement: UBXAcknowledgement) -> ReceiverAnswer? {
    guard acknowledgement.kind == kind else {
      strange = "the result of another command"
      return nil
    }
    guard acknowledgement.isAccepted else { return .refused }
    guard wantsMessage else { return .accepted }
    if let payload { return .answered(payload) }
    strange = "only an acknowledgement"
    return nil
  }

  var answerSoFar: ReceiverAnswer {
    if let payload { return .answered(payload) }
    return strange.map { .otherwise($0) } ?? .unanswered
  }
}
