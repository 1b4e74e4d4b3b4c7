import HardwareIO
import UBX

/// Changes the settings of receivers from protocol version 27 on, whose settings are keys with values.
struct UbloxKeyChanges: UbloxChanges {
  var keepsFound = false
  private let port: UBXPort
  private var found: [UBXSetting] = []
  /// The settings that were changed, for `save`.
  private var made: [UBXSetting] = []
  private var foundSpeed: BaudRate?

  init(_ port: UBXPort) { self.port = port }

  private func ask(_ message: UBXMessage, _ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer {
    try channel.ask(UBXRequest(setting: message))
  }

  /// Applies all of the settings, or none. If `keepsFound` is set, reads and keeps their previous values first.
  private mutating func set(
    _ settings: [UBXSetting], _ channel: CommandChannel
  ) throws(HardwareError) -> ReceiverAnswer {
    if keepsFound, case .answered(let payload) = try channel.ask(UBXRequest(asking: .get(settings.map(\.key)))),
      let old = [UBXSetting](valuesOf: payload)
    {
      // Only the first value found is the original value.
      for setting in old where !found.contains(where: { $0.key == setting.key }) { found.append(setting) }
    }
    let answer = try ask(.set(settings, in: .ram), channel)
    if answer.isGood { made += settings }
    return answer
  }

  private func value(of key: UBXKey, _ channel: CommandChannel) throws(HardwareError) -> UBXSetting? {
    guard case .answered(let payload) = try channel.ask(UBXRequest(asking: .get([key]))) else { return nil }
    return [UBXSetting](valuesOf: payload)?.first
  }

  /// Applies the settings together, or one by one if the receiver does not know one of them.
  ///
  /// - Parameter essential: the number of leading settings that must be accepted
  private mutating func setEach(
    _ settings: [UBXSetting], essential: Int, _ channel: CommandChannel
  ) throws(HardwareError) -> ReceiverAnswer {
    let whole = try set(settings, channel)
    guard whole == .refused else { return whole }
    for (index, setting) in settings.enumerated() {
      let answer = try set([setting], channel)
      if !answer.isGood, index < essential || answer == .stopped { return answer }
    }
    return .accepted
  }

  mutating func setSpeed(
    _ speed: BaudRate, _ channel: CommandChannel, _ report: inout SettingReport
  ) throws(HardwareError) -> ReceiverAnswer {
    guard port == .uart1 else {
      report.lacks("setSpeed", "this port of the receiver has no speed: remove the key")
      return .accepted
    }
    if channel.speed == speed { return .accepted }
    let old = channel.speed
    let setting = UBXSetting(.uart1BaudRate, speed.rawValue)
    let answer = try change(speed, setting, channel)
    if answer.isGood {
      made.append(setting)
      if keepsFound, foundSpeed == nil { foundSpeed = old }
    }
    return answer
  }

  private func change(
    _ speed: BaudRate, _ setting: UBXSetting, _ channel: CommandChannel
  ) throws(HardwareError) -> ReceiverAnswer {
    try channel.changeSpeed(
      to: speed, saying: UBXMessage.set([setting], in: .ram).bytes, asking: UBXRequest(asking: UBXVersion.request))
  }

  mutating func setMessages(
    _ messages: ReceiverSettings.Messages, _ version: Int, _ channel: CommandChannel
  ) throws(HardwareError) -> ReceiverAnswer {
    let solution = UBXOutput.solution(version: version).compactMap { port.rate(of: $0) }
    let sentences = UBXOutput.sentences.compactMap { port.rate(of: $0) }
    switch messages {
    case .ubx:
      let answer = try setEach(
        [UBXSetting(port.sendsUBX, true)] + solution.map { UBXSetting($0, 1) }, essential: 2, channel)
      guard answer.isGood else { return answer }
      return try set([UBXSetting(port.sendsNMEA, false)], channel)
    case .nmea:
      let answer = try setEach(
        [UBXSetting(port.sendsNMEA, true)] + sentences.map { UBXSetting($0, 1) }, essential: 2, channel)
      guard answer.isGood else { return answer }
      return try setEach(solution.map { UBXSetting($0, 0) }, essential: 0, channel)
    }
  }

  mutating func setCorrectionReports(_ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer {
    guard let key = port.rate(of: .rxmRTCM) else { return .accepted }
    return try set([UBXSetting(key, 1)], channel)
  }

  mutating func setConstellations(
    _ constellations: [ReceiverSettings.Constellation], _ channel: CommandChannel, _ report: inout SettingReport
  ) throws(HardwareError) -> ReceiverAnswer {
    let others = ReceiverSettings.Constellation.allCases.filter { !constellations.contains($0) }
    let wanted = constellations.map { UBXSetting($0.ubloxKey, true) }
    let whole = try set(wanted + others.map { UBXSetting($0.ubloxKey, false) }, channel)
    guard whole == .refused else { return whole }
    // A constellation that the receiver lacks cannot be switched off. The receiver may not be able to enable a wanted
    // constellation until another one is off.
    var result = try set(wanted, channel)
    var switchedOff: [UBXSetting] = []
    for other in others where result != .stopped {
      let isOn = try value(of: other.ubloxKey, channel) == UBXSetting(other.ubloxKey, true)
      let answer = try set([UBXSetting(other.ubloxKey, false)], channel)
      if answer == .stopped { result = .stopped }
      if isOn, answer.isGood { switchedOff.append(UBXSetting(other.ubloxKey, true)) }
    }
    if result == .refused { result = try set(wanted, channel) }
    // If the receiver refuses the wanted constellations, restore the previous ones, because only a part of the new
    // constellations would be worse.
    if result == .refused { for setting in switchedOff.reversed() { _ = try set([setting], channel) } }
    return result
  }

  mutating func setDynamicModel(
    _ model: ReceiverSettings.DynamicModel, _ channel: CommandChannel
  ) throws(HardwareError) -> ReceiverAnswer {
    try set([UBXSetting(.dynamicModel, model.ubloxNumber)], channel)
  }

  mutating func setPowerMode(
    _ mode: ReceiverSettings.PowerMode, _ channel: CommandChannel
  ) throws(HardwareError) -> ReceiverAnswer {
    switch mode {
    case .full: try set([UBXSetting(.operateMode, 0)], channel)
    case .balanced: .refused
    // The value 2 means cyclic tracking, in which the receiver continues to report.
    case .saving: try set([UBXSetting(.operateMode, 2)], channel)
    }
  }

  mutating func setRate(milliseconds: UInt16, _ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer {
    try set([UBXSetting(.measurementMilliseconds, milliseconds)], channel)
  }

  /// Saves the settings in the battery-backed memory and in the flash, of which the receiver may have only one.
  func save(_ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer {
    let battery = try save(in: .battery, channel)
    if battery == .stopped || battery == .unanswered { return battery }
    let flash = try save(in: .flash, channel)
    return battery.isGood ? battery : flash
  }

  private func save(in layer: UBXLayers, _ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer {
    var answer = ReceiverAnswer.accepted
    var rest = made[...]
    while !rest.isEmpty, answer.isGood {
      answer = try ask(.set(Array(rest.prefix(64)), in: layer), channel)
      rest = rest.dropFirst(64)
    }
    return answer
  }

  mutating func restore(_ channel: CommandChannel) throws(HardwareError) {
    var rest = found[...]
    while !rest.isEmpty {
      _ = try ask(.set(Array(rest.prefix(64)), in: .ram), channel)
      rest = rest.dropFirst(64)
    }
    found = []
    guard let speed = foundSpeed else { return }
    foundSpeed = nil
    _ = try change(speed, UBXSetting(.uart1BaudRate, speed.rawValue), channel)
  }
}

extension ReceiverSettings.Constellation {
  fileprivate var ubloxKey: UBXKey {
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
