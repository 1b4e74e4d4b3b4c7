import HardwareIO
import UBX

/// Changes the settings of receivers up to protocol version 23, which have one message for each subject.
struct UbloxLegacyChanges: UbloxChanges {
  var keepsFound = false
  /// The protocol version in hundredths.
  private let version: Int
  /// The messages that restore the previous settings, the latest change first.
  private var found: [UBXMessage] = []
  private var foundPort: UBXPortConfiguration?

  init(_ version: Int) { self.version = version }

  private func set(_ message: UBXMessage, _ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer {
    try channel.ask(UBXRequest(setting: message))
  }

  private func get(_ message: UBXMessage, _ channel: CommandChannel) throws(HardwareError) -> [UInt8]? {
    guard case .answered(let payload) = try channel.ask(UBXRequest(asking: message, prefix: message.payload)) else {
      return nil
    }
    return payload
  }

  private mutating func keep(_ message: @autoclosure () -> UBXMessage?) {
    guard keepsFound, let message = message() else { return }
    found.insert(message, at: 0)
  }

  mutating func setSpeed(
    _ speed: BaudRate, _ channel: CommandChannel, _ report: inout SettingReport
  ) throws(HardwareError) -> ReceiverAnswer {
    guard var port = try port(channel) else { return .unanswered }
    guard port.isUART else {
      report.lacks("setSpeed", "this port of the receiver has no speed: remove the key")
      return .accepted
    }
    if port.baudRate == speed.rawValue { return .accepted }
    port.baudRate = speed.rawValue
    return try channel.changeSpeed(
      to: speed, saying: port.message.bytes, asking: UBXRequest(asking: UBXPortConfiguration.request))
  }

  /// Reads the port's present settings. The settings from the first read are kept as the original ones.
  private mutating func port(_ channel: CommandChannel) throws(HardwareError) -> UBXPortConfiguration? {
    guard let payload = try get(UBXPortConfiguration.request, channel),
      let port = UBXPortConfiguration(payload: payload)
    else { return nil }
    if keepsFound, foundPort == nil { foundPort = port }
    return port
  }

  mutating func setMessages(
    _ messages: ReceiverSettings.Messages, _ version: Int, _ channel: CommandChannel
  ) throws(HardwareError) -> ReceiverAnswer {
    guard var port = try port(channel) else { return .unanswered }
    let solution = UBXOutput.solution(version: version)
    let (wanted, others) = messages == .ubx ? (solution, []) : (UBXOutput.sentences, solution)
    for (index, output) in wanted.enumerated() {
      try keepRate(of: output, port, channel)
      let answer = try set(.rate(of: output, 1), channel)
      // Without the first message there is no position. The other messages are optional.
      if !answer.isGood, index == 0 || answer == .stopped { return answer }
    }
    // Acknowledgements are UBX messages too, so the port must send UBX even if the receiver reports in NMEA.
    port.sendsUBX = true
    port.sendsNMEA = messages == .nmea
    let answer = try set(port.message, channel)
    guard answer.isGood else { return answer }
    for output in others {
      try keepRate(of: output, port, channel)
      if try set(.rate(of: output, 0), channel) == .stopped { return .stopped }
    }
    return answer
  }

  mutating func setCorrectionReports(_ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer {
    // The NEO-M8P is the first receiver that accepts corrections.
    guard version >= 2000 else { return .accepted }
    if keepsFound, let port = try port(channel) { try keepRate(of: .rxmRTCM, port, channel) }
    return try set(.rate(of: .rxmRTCM, 1), channel)
  }

  private mutating func keepRate(
    of output: UBXOutput, _ port: UBXPortConfiguration, _ channel: CommandChannel
  ) throws(HardwareError) {
    guard keepsFound else { return }
    let question = UBXMessage(UBXCommandKind.cfgMSG, [UInt8(output.kind >> 8), UInt8(output.kind & 0xFF)])
    // After class and identifier, the answer has a rate for each port. Some receivers send only the rate of the present
    // port.
    guard let rates = try get(question, channel), rates.count >= 3 else { return }
    let own = 2 + Int(port.number)
    keep(.rate(of: output, rates.count > own ? rates[own] : rates[2]))
  }

  mutating func setConstellations(
    _ constellations: [ReceiverSettings.Constellation], _ channel: CommandChannel, _ report: inout SettingReport
  ) throws(HardwareError) -> ReceiverAnswer {
    guard let payload = try get(UBXConstellations.request, channel), var systems = UBXConstellations(payload: payload)
    else { return .refused }
    let lacking = constellations.filter { !systems.known.contains($0.ubloxSystem) }
    guard lacking.isEmpty else {
      report.lacks(
        "constellations", "the receiver has no \(lacking.map(\.rawValue).joined(separator: ", ")): remove it")
      return .accepted
    }
    let wanted = constellations.map(\.ubloxSystem)
    if Set(wanted) == Set(systems.enabled) { return .accepted }
    keep(systems.message)
    systems.enabled = wanted
    return try set(systems.message, channel)
  }

  mutating func setDynamicModel(
    _ model: ReceiverSettings.DynamicModel, _ channel: CommandChannel
  ) throws(HardwareError) -> ReceiverAnswer {
    if keepsFound, let old = try get(UBXMessage(UBXCommandKind.cfgNAV5), channel), old.count > 2 {
      keep(.dynamicModel(old[2]))
    }
    return try set(.dynamicModel(model.ubloxNumber), channel)
  }

  mutating func setPowerMode(
    _ mode: ReceiverSettings.PowerMode, _ channel: CommandChannel
  ) throws(HardwareError) -> ReceiverAnswer {
    let hasSetups = version >= 1800
    if keepsFound {
      let kind = hasSetups ? UBXCommandKind.cfgPMS : UBXCommandKind.cfgRXM
      if let old = try get(UBXMessage(kind), channel) { keep(UBXMessage(kind, old)) }
    }
    switch mode {
    case .full: return try set(hasSetups ? .powerSetup(0) : .lowPowerMode(0), channel)
    case .balanced: return hasSetups ? try set(.powerSetup(1), channel) : .refused
    case .saving: return try set(hasSetups ? .powerSetup(3) : .lowPowerMode(1), channel)
    }
  }

  mutating func setRate(milliseconds: UInt16, _ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer {
    // Keep the time system to which measurements are aligned.
    let old = try get(UBXMessage(UBXCommandKind.cfgRATE), channel)
    keep(old.map { UBXMessage(UBXCommandKind.cfgRATE, $0) })
    let reference = old.flatMap { $0.count == 6 ? UInt16($0[4]) | UInt16($0[5]) << 8 : nil }
    return try set(.rate(milliseconds: milliseconds, timeReference: reference ?? 1), channel)
  }

  func save(_ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer { try set(.save, channel) }

  mutating func restore(_ channel: CommandChannel) throws(HardwareError) {
    for message in found { _ = try set(message, channel) }
    found = []
    guard let port = foundPort else { return }
    foundPort = nil
    guard port.isUART, port.baudRate != channel.speed.rawValue, let speed = BaudRate(rawValue: port.baudRate) else {
      _ = try set(port.message, channel)
      return
    }
    _ = try channel.changeSpeed(
      to: speed, saying: port.message.bytes, asking: UBXRequest(asking: UBXPortConfiguration.request))
  }
}

extension ReceiverSettings.Constellation {
  var ubloxSystem: UBXConstellations.System {
    switch self {
    case .gps: .gps
    case .galileo: .galileo
    case .glonass: .glonass
    case .beidou: .beidou
    case .qzss: .qzss
    case .sbas: .sbas
    }
  }
}
