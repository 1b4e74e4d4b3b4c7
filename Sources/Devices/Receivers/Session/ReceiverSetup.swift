import HardwareIO

/// Identifies a receiver that was found on its line, and applies its settings.
struct ReceiverSetup {
  enum Identification {
    case answered(any CommandedReceiver)
    /// The receiver was asked, and had enough time for an answer.
    case unanswered
    /// The reader was told to stop before the receiver could answer.
    case interrupted
  }

  let configuration: ReceiverConfiguration
  let memory: ReceiverMemory
  let knowledge: KnowledgeOfRun
  let delegate: any ReceiverSessionDelegate

  /// Identifies the receiver, and reports its identity, or that it does not answer.
  ///
  /// - Parameter wokenFrom: the sleep mode that the receiver has just left; `nil` if it was not asleep. A receiver that
  ///   was asleep is the one in memory, and is not asked, unless a client of the bridge has written to it
  func identify(
    _ channel: CommandChannel, wokenFrom: ReceiverSleep?
  ) throws(HardwareError) -> Identification {
    var known = wokenFrom == nil || memory.present.isAltered ? nil : memory.present.receiver
    if known == nil {
      known = try ask(channel)
      try known?.askForUniqueID(channel)
      // A receiver that kept its supply may still have the settings of an earlier run. The value in memory has the
      // settings from before the first change, so use that value.
      if !configuration.isSwitched, let before = memory.present.receiver, let now = known, before.name == now.name,
        !before.identity.isOther(than: now.identity)
      {
        known = before
      }
    }
    if let known {
      delegate.identified(known.identity)
      return .answered(known)
    }
    if channel.isStopped { return .interrupted }
    memory.present.receiver = nil
    delegate.identified(nil)
    // If the board file requests nothing from the receiver, a missing answer needs no warning.
    let isMissed = configuration.driver != .auto || !configuration.settings.keys.isEmpty || configuration.mustRest
    if isMissed { delegate.warn(ReceiverSetup.unanswered(as: configuration.driver)) }
    return .unanswered
  }

  /// Asks for the identity. If a receiver has answered before, its protocol is tried first. If it does not answer, all
  /// protocols of the configuration are tried.
  private func ask(_ channel: CommandChannel) throws(HardwareError) -> (any CommandedReceiver)? {
    if configuration.driver == .auto, let before = memory.present.receiver {
      let known = try channel.expecting(before.driver) { () throws(HardwareError) in
        try before.driver.identify(channel)
      }
      if known != nil || channel.isStopped { return known }
      memory.present.receiver = nil
    }
    return try configuration.driver.identify(channel)
  }

  /// Applies the settings to an identified receiver, sends it its earlier satellite data, and reports the problems.
  ///
  /// - Parameters:
  ///   - wokenFrom: the sleep mode that the receiver has just left; `nil` if it was not asleep
  ///   - found: the speed at which the receiver was found
  func configure(
    _ identified: any CommandedReceiver, _ channel: CommandChannel, wokenFrom: ReceiverSleep?, foundAt found: BaudRate
  ) throws(HardwareError) {
    var known = identified
    let isAltered = memory.present.isAltered
    if let wokenFrom, !known.forgetsSettings(in: wokenFrom), !configuration.settings.restores, !isAltered { return }
    memory.present.firstSpeed = found
    var report = SettingReport(foreseenWith: configuration, known.driver, foundAt: found)
    // After a client of the bridge has written, another value does not show that the receiver has lost the hub's.
    report.savedChanges = isAltered ? [] : memory.present.savedChanges
    try known.configure(configuration.settings, channel, &report)
    if configuration.driver == .auto, wokenFrom != nil, report.isUnanswered, !channel.isStopped,
      var other = try ask(channel), other.driver != known.driver
    {
      // Another receiver has replaced the one that fell asleep.
      try other.askForUniqueID(channel)
      known = other
      delegate.identified(known.identity)
      report = SettingReport()
      try known.configure(configuration.settings, channel, &report)
    }
    memory.present.receiver = known
    memory.present.savedChanges = report.savedChanges
    guard !channel.isStopped else { return }
    memory.present.isAltered = false
    memory.present.settingProblems = report.problems
    if configuration.keepsKnowledge, wokenFrom == nil, !report.isUnanswered {
      try knowledge.giveBack(to: known, channel)
    }
    reportProblems(of: known)
  }

  /// Reports all failed settings in one warning, or withdraws the warning.
  func reportProblems(of known: any CommandedReceiver) {
    let ofKnowledge = configuration.keepsKnowledge ? [knowledge.problem].compactMap { $0 } : []
    let problems = memory.present.settingProblems + ofKnowledge
    delegate.warn(problems.isEmpty ? nil : "\(known.name): " + problems.joined(separator: "; "))
  }

  /// The problem of a receiver that does not answer, with the next step.
  static func unanswered(as driver: ReceiverDriver) -> String {
    let commands = driver == .auto ? "commands of any known protocol" : "'\(driver.rawValue)' commands"
    return "it does not answer \(commands), and keeps its present settings: check that this board's TX is connected "
      + "to the receiver's RX; if noise on the line has blocked its input, switch it off and on"
  }
}

extension SettingReport {
  /// The problems that are known before anything is sent to the receiver.
  init(foreseenWith configuration: ReceiverConfiguration, _ driver: ReceiverDriver, foundAt found: BaudRate) {
    self.init()
    if let stated = configuration.speed, stated != found, configuration.settings.speed == nil {
      lacks(
        "speed",
        "the receiver was left at \(found.rawValue): set 'speed' to this value, or let the hub change it: setSpeed: "
          + "\(stated.rawValue)")
    }
    for key in configuration.settings.keys where driver.lackingKeys.contains(key) {
      lacks(key.rawValue, "this receiver has no such setting: remove the key")
    }
  }
}
