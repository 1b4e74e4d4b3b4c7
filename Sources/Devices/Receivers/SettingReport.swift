/// The settings that could not be applied to a receiver, in words, with the next step.
struct SettingReport {
  private(set) var problems: [String] = []
  /// The number of consecutive settings without an answer.
  private var unansweredInARow = 0
  private var isStopped = false

  /// Records the result of a setting.
  ///
  /// - Parameter setting: the setting's key in the board file
  mutating func note(_ setting: String, _ answer: ReceiverAnswer) {
    if answer == .stopped { isStopped = true }
    unansweredInARow = answer == .unanswered ? unansweredInARow + 1 : 0
    switch answer {
    case .accepted, .answered, .stopped: break
    case .refused: problems.append("\(setting) is refused: \(SettingReport.nextStep(setting))")
    case .otherwise(let what):
      problems.append("\(setting) is answered with \(what); it is tried again at the next start")
    case .unanswered: problems.append("\(setting) is not answered: is this board's TX connected to the receiver's RX?")
    }
  }

  /// Records that the receiver is known to lack a setting.
  mutating func lacks(_ setting: String, _ problem: String) { problems.append("\(setting): \(problem)") }

  /// Whether the receiver does not answer at all.
  var isUnanswered: Bool { unansweredInARow >= 2 }

  /// Whether further settings are pointless.
  var isHopeless: Bool { isStopped || isUnanswered }

  private static func nextStep(_ setting: String) -> String {
    switch setting {
    case "rateHz": "ask for less, or for fewer constellations"
    case "constellations": "ask for fewer; many receivers have three at once at most"
    case "setSpeed": "leave it out, or ask for a usual speed"
    case "saves": "the receiver has no memory for settings; leave it out, as they are set at each start"
    default: "leave it out, as this receiver has no such choice"
    }
  }
}
