/// For how long a device is to run on after its last visitor: as long as it costs least, by what its visits and its starts have
/// taught.
///
/// It is the problem of the rented skis. Who lingers for as long as a restart costs (break-even) never pays more than twice what
/// one would who knows the next visit (Karlin and others, Competitive snoopy caching, 1988). Who knows how long the gaps usually
/// are does better: the linger of the least expected loss. What was learnt may be wrong, so it may be acted on only with what has
/// been saved against twice the optimum; where nothing is saved any more, break-even it is again.
///
/// A value, without a clock: the hub has one for each device, and the benchmark simulates with the same.
public struct LearnedLinger: Equatable, Sendable {
  /// What the device draws, and what is assumed of it before it has been started.
  public struct Costs: Equatable, Sendable {
    /// How much more it draws while it works than while it rests.
    public var watts: Double
    /// What a start takes, joules, as long as none has been seen.
    public var assumedJoules: Double

    public init(watts: Double, assumedJoules: Double) {
      self.watts = watts
      self.assumedJoules = assumedJoules
    }
  }

  public struct Decision: Equatable, Sendable {
    public enum Ground: Equatable, Sendable {
      /// Sleeping would save nothing.
      case nothingToSave
      /// Too few visits have been seen: break-even.
      case noHistory
      /// The least expected loss.
      case learnt
      /// Visits have not been as they were learnt: as near to break-even as it takes to stay below twice the optimum.
      case guarded
      /// Whoever came, came while it lingered, for so long that what a restart costs may have changed unseen: it is tried.
      case trial
    }

    public var seconds: Double
    public var ground: Ground
    /// Where lingering costs as much as a restart, seconds.
    public var breakEvenSeconds: Double
    /// Which part of the visits is expected to come while it lingers.
    public var expectedReturns: Double
  }

  public var restarts = RestartCosts()
  public internal(set) var gaps = GapHistogram()
  /// The last ones, seconds, the latest at the end.
  public internal(set) var recentGaps: [Double] = []
  /// What has been saved against twice the optimum, and may be risked; joules. `nil` before anything was decided here.
  public internal(set) var savedJoules: Double?
  /// What has been spent on lingering since the last restart; joules. Not kept over restarts of the service, which start the device
  /// anew.
  public internal(set) var bridgedJoules = 0.0
  /// How many gaps have been seen.
  public internal(set) var gapCount = 0
  /// How often what was learnt was given up for what the last gaps taught.
  public internal(set) var changeCount = 0

  /// So many gaps tell nothing yet.
  static let leastGaps = 3
  /// The same of those that have lasted as long as the present one.
  static let leastLongerGaps = 0.9
  static let recentCount = 8
  /// More restarts than these are not saved up for mistakes, and so many it begins with.
  static let mostSavedRestarts = 5.0
  static let givenRestarts = 2.0
  /// What was learnt is given up when it has cost so many restarts more within the last gaps than they would have taught.
  static let changeRestarts = 3.0
  /// What is saved is measured against a little more than twice the optimum, so that who has been wrong may try again.
  static let bound = 2.02
  /// Visitors who always come while it lingers leave no restart to learn from, and one that was dear by chance would be believed for
  /// good. So a restart is tried when lingering has cost so many of them, which makes it 5 % dearer at most if it was right; and
  /// sooner where the last restart cost less than half of what is believed.
  static let trialRestarts = 20.0
  static let doubtedTrialRestarts = 4.0
  /// Where staying on costs next to nothing, as by what a supply monitor has in its noise, a restart is worth no longer: a week.
  static let mostSeconds = 7.0 * 86_400

  public init() {}

  /// For how long to linger from now on. Takes microseconds.
  public func decide(_ costs: Costs) -> Decision {
    let restart = restarts.joules(after: 0, assuming: costs.assumedJoules)
    guard costs.watts > 0, costs.watts.isFinite else {
      return Decision(seconds: 0, ground: .nothingToSave, breakEvenSeconds: .infinity, expectedReturns: 0)
    }
    let breakEven = breakEven(costs)
    guard gapCount >= LearnedLinger.leastGaps else {
      return Decision(
        seconds: breakEven, ground: .noHistory, breakEvenSeconds: breakEven, expectedReturns: returns(within: breakEven)
      )
    }
    let best = best(costs)
    // A visitor just after the end costs a restart on top of what the optimum pays twice.
    let safe = min(breakEven, max(0, breakEven - saved(restart) / costs.watts))
    let seconds = max(best, safe)
    if seconds > 0, isTrialDue(restart) {
      return Decision(seconds: 0, ground: .trial, breakEvenSeconds: breakEven, expectedReturns: 0)
    }
    return Decision(
      seconds: seconds, ground: seconds > best ? .guarded : .learnt, breakEvenSeconds: breakEven,
      expectedReturns: returns(within: seconds))
  }

  /// Somebody has come again.
  ///
  /// - Parameters:
  ///   - gap: how many seconds after the last one had left
  ///   - lingered: for how many seconds the device was to linger by what was decided here; `nil` where that was not asked for
  public mutating func visited(after gap: Double, lingered: Double?, _ costs: Costs) {
    guard gap >= 0, gap.isFinite, costs.watts > 0 else { return }
    let restart = restarts.joules(after: 0, assuming: costs.assumedJoules)
    if let lingered {
      let optimum = LearnedLinger.optimum(gap, costs, restarts)
      let saved = saved(restart) + LearnedLinger.bound * optimum - loss(gap, lingered, costs)
      savedJoules = min(max(saved, 0), LearnedLinger.mostSavedRestarts * restart)
      bridgedJoules = gap > lingered ? 0 : bridgedJoules + costs.watts * gap
    }
    gaps.add(gap)
    recentGaps.append(gap)
    if recentGaps.count > LearnedLinger.recentCount { recentGaps.removeFirst() }
    gapCount += 1
    noticeChange(costs, restart)
  }

  /// The device was started anew, for whomever: what that takes has been seen, and needs no trial.
  ///
  /// - Parameters: as of `RestartCosts.started`
  mutating func restarted(after off: Double, joules: Double, seconds: Double, isComplete: Bool) {
    restarts.started(after: off, joules: joules, seconds: seconds, isComplete: isComplete)
    bridgedJoules = 0
  }

  /// For how many seconds nobody is expected to come any more where nobody has come for some by now: the mean of the gaps that were
  /// longer; `nil` where there were too few to say.
  func expectedPause(after seconds: Double) -> Double? {
    guard gapCount >= LearnedLinger.leastGaps else { return nil }
    var (weight, sum) = (0.0, 0.0)
    for bin in gaps.weights.indices where GapHistogram.middle(bin) > seconds {
      weight += gaps.weights[bin]
      sum += gaps.weights[bin] * (GapHistogram.middle(bin) - seconds)
    }
    return weight >= LearnedLinger.leastLongerGaps ? sum / weight : nil
  }

  private func saved(_ restart: Double) -> Double { savedJoules ?? LearnedLinger.givenRestarts * restart }

  /// Only on what has been saved: a visitor at once after its end costs a restart that the optimum does not pay.
  private func isTrialDue(_ restart: Double) -> Bool {
    let isDoubted = (restarts[.hot]?.deviatingCount ?? 0) < 0
    let count = isDoubted ? LearnedLinger.doubtedTrialRestarts : LearnedLinger.trialRestarts
    return bridgedJoules >= count * restart && saved(restart) >= restart
  }

  /// Gives up what was learnt where the last gaps are others.
  private mutating func noticeChange(_ costs: Costs, _ restart: Double) {
    guard gaps.weight > Double(recentGaps.count) else { return }
    var recent = GapHistogram()
    for gap in recentGaps { recent.weights[GapHistogram.bin(of: gap)] += 1 }
    let learnt = best(costs)
    let taught = best(costs, recent)
    let regret = recentGaps.reduce(0) { $0 + loss($1, learnt, costs) - loss($1, taught, costs) }
    guard regret > LearnedLinger.changeRestarts * restart else { return }
    gaps = recent
    changeCount += 1
  }

  private func breakEven(_ costs: Costs) -> Double {
    min(restarts.joules(after: 0, assuming: costs.assumedJoules) / costs.watts, LearnedLinger.mostSeconds)
  }

  private func best(_ costs: Costs) -> Double { best(costs, gaps) }

  /// The linger of the least expected loss: none, as long as the gaps of some bin, or break-even.
  private func best(_ costs: Costs, _ gaps: GapHistogram) -> Double {
    let breakEven = breakEven(costs)
    var best = (seconds: 0.0, joules: expectedLoss(0, costs, gaps))
    func consider(_ seconds: Double) {
      let joules = expectedLoss(seconds, costs, gaps)
      if joules < best.joules { best = (seconds, joules) }
    }
    for bin in gaps.weights.indices where gaps.weights[bin] > 0 && GapHistogram.upperEdge(bin) < breakEven {
      consider(GapHistogram.upperEdge(bin))
    }
    consider(breakEven)
    return best.seconds
  }

  private func expectedLoss(_ linger: Double, _ costs: Costs, _ gaps: GapHistogram) -> Double {
    var joules = 0.0
    for bin in gaps.weights.indices where gaps.weights[bin] > 0 {
      joules += gaps.weights[bin] * loss(GapHistogram.middle(bin), linger, costs)
    }
    return joules
  }

  private func loss(_ gap: Double, _ linger: Double, _ costs: Costs) -> Double {
    LearnedLinger.loss(gap, linger, costs, restarts)
  }

  /// What lingering for so long costs in a gap, restart included; joules.
  public static func loss(_ gap: Double, _ linger: Double, _ costs: Costs, _ restarts: RestartCosts) -> Double {
    if gap <= linger { return costs.watts * gap }
    return costs.watts * linger + restarts.joules(after: gap - linger, assuming: costs.assumedJoules)
  }

  /// What the gap costs who knows it beforehand.
  public static func optimum(_ gap: Double, _ costs: Costs, _ restarts: RestartCosts) -> Double {
    // Lingering a little can make a hot start of a warm one.
    let lingers = [0, gap - RestartCosts.Kind.hotSeconds, gap - RestartCosts.Kind.warmSeconds]
    return lingers.reduce(costs.watts * gap) { $1 < 0 ? $0 : min($0, loss(gap, $1, costs, restarts)) }
  }

  private func returns(within seconds: Double) -> Double {
    let all = gaps.weight
    guard all > 0 else { return 0 }
    let within = gaps.weights.indices.reduce(0.0) {
      GapHistogram.upperEdge($1) <= seconds * 1.000001 ? $0 + gaps.weights[$1] : $0
    }
    return within / all
  }
}
