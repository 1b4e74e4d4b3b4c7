import MonotonicTime

/// The idle timeout of a device, and its reasons in figures and in words.
public struct IdleTimeoutReport: Equatable, Sendable {
  /// Whether the idle timeout is learned; otherwise it is always `usual`.
  public var isLearned: Bool
  public var usual: Duration
  public var learned: LearnedIdleTimeout
  public var costs: LearnedIdleTimeout.Costs
  /// The learned times of starts for scheduled fixes.
  public var acquisitions = AcquisitionTimes()
  /// The sleep mode of the last rest, if modes are chosen; `nil` before the first.
  public var sleep: SleepChoice?

  /// The learned idle timeout, whether it applies or not.
  public var decision: LearnedIdleTimeout.Decision { learned.decide(costs) }

  /// The present idle timeout.
  public var seconds: Double {
    let decision = decision
    return isLearned && decision.ground != .nothingToSave ? decision.seconds : usual.inSeconds
  }

  /// The explanation in sentences without a full stop.
  public var explanation: [String] {
    var lines: [String] = []
    let decision = decision
    if isLearned {
      lines.append(
        decision.ground == .nothingToSave
          ? "idle timeout \(usual.inSeconds.short) s: \(decision.reason)" : decision.reason)
    } else {
      lines.append(
        "idle timeout \(usual.inSeconds.short) s, as the board file sets; to let the hub learn the time, set linger: "
          + "'learned' in the device's 'power'"
      )
      if decision.ground != .nothingToSave { lines.append("learned so far (\(decision.reason))") }
    }
    lines += sleep?.explanation ?? []
    lines.append("staying on needs \((1000 * costs.watts).short) mW more than sleeping")
    var hasStarts = false
    for kind in RestartCosts.Kind.allCases {
      guard let estimate = learned.restarts[kind] else { continue }
      hasStarts = true
      let starts = estimate.count == 1 ? "1 start" : "\(estimate.count) starts"
      lines.append(
        "a \(kind.rawValue) start takes \(estimate.seconds.short) s and \(estimate.joules.energy), from \(starts)")
    }
    lines += acquisitions.explanation
    if !hasStarts {
      lines.append("the hub has measured no restart yet, and assumes that one takes \(costs.assumedJoules.energy)")
    }
    if decision.ground != .nothingToSave {
      lines.append(
        "a start costs as much as staying on for \(decision.breakEvenSeconds.short) s, the longest useful time")
    }
    if learned.gapCount > 0 {
      lines.append("gaps between clients, \(learned.gapCount) so far; distribution of the recent ones:")
      lines += gapLines
    }
    if learned.changeCount > 0 {
      lines.append("the pattern has changed \(learned.changeCount) times")
    }
    return lines
  }

  /// One line for each class of gap lengths. Classes with less than 0.5 % of the gaps are left out.
  private var gapLines: [String] {
    let limits: [(name: String, seconds: Double)] = [
      ("up to 2 s", 2), ("up to 10 s", 10), ("up to 30 s", 30), ("up to 2 min", 120), ("up to 15 min", 900),
      ("up to 2 h", 7200), ("longer", .infinity),
    ]
    let all = learned.gaps.weight
    guard all > 0 else { return [] }
    var from = 0.0
    return limits.compactMap { name, to in
      defer { from = to }
      let part = learned.gaps.weights.indices.reduce(0.0) { sum, bin in
        let middle = GapHistogram.middle(bin)
        return middle > from && middle <= to ? sum + learned.gaps.weights[bin] : sum
      }
      return part / all < 0.005 ? nil : "  \(name): \(Int((100 * part / all).rounded())) %"
    }
  }
}

extension LearnedIdleTimeout.Decision {
  /// The reason for the idle timeout, as shown after a device's state.
  public var reason: String {
    switch ground {
    case .nothingToSave: "sleeping would save nothing"
    case .noHistory: "too few clients yet: for \(seconds.short) s, the time that costs as much as a restart"
    case .learnt where seconds == 0: "as learned: waiting for the next client costs more than a restart"
    case .learnt:
      "as learned: \(Int((100 * expectedReturns).rounded())) % of clients come back within \(seconds.short) s, and a restart "
        + "costs as much as \(breakEvenSeconds.short) s"
    case .guarded:
      "the gaps between clients have changed: for \(seconds.short) s, closer to the \(breakEvenSeconds.short) s that cost as much as a restart"
    case .trial: "every client came back within the idle timeout: the hub tries a restart, to measure its present cost"
    }
  }
}

extension Double {
  /// A number of joules in a readable unit.
  var energy: String { self < 1 ? "\((1000 * self).short) mJ" : "\(short) J" }

  /// A number with about three digits: `0.15`, `28`, `115.5`.
  var short: String {
    let scale = abs(self) < 1 ? 1000.0 : abs(self) < 100 ? 10.0 : 1.0
    let rounded = (self * scale).rounded() / scale
    guard let whole = Int(exactly: rounded) else { return "\(rounded)" }
    return "\(whole)"
  }
}
