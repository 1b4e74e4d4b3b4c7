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
    case .refused: problems.append("it refused \(setting): \(SettingReport.nextStep(setting))")
    case .otherwise(let what):
      problems.append("it answered \(setting) with \(what); the hub tries again at the next start")
    case .unanswered:
      problems.append(
        "it did not answer \(setting): check that this board's TX is connected to the receiver's RX")
    }
  }

  /// Records a problem with a setting that is known without an answer from the receiver.
  mutating func lacks(_ setting: String, _ problem: String) { problems.append("\(setting): \(problem)") }

  /// Whether the receiver left the last two settings without an answer.
  var isUnanswered: Bool { unansweredInARow >= 2 }

  /// Whether further settings are pointless.
  var isHopeless: Bool { isStopped || isUnanswered }

  private static func nextStep(_ setting: String) -> String {
    switch setting {
    case "rateHz": "set a lower rate, or fewer constellations"
    case "constellations": "set fewer; many receivers support at most three at once"
    case "setSpeed": "remove the key, or set a usual speed"
    case "saves": "the receiver has no memory for settings; remove the key, because the hub sets them at each start"
    default: "remove the key, because this receiver has no such setting"
    }
  }
}
