import Glibc

/// The cheapest idle timeout of a device, learned from the gaps between clients and the costs of starts.
///
/// This is the ski rental problem. The optimum is the least possible cost if the time of the next client were known. An
/// idle timeout whose cost equals a restart (break-even) never costs more than twice the optimum (Karlin and others,
/// Competitive snoopy caching, 1988). If the usual gaps are known, the timeout with the least expected cost is better.
/// Because past gaps may mislead, this timeout is applied only as long as it has saved energy compared with twice the
/// optimum. Without savings, break-even applies again.
///
/// This is a value without a clock. The hub has one for each device, and the benchmark simulates with the same type.
public struct LearnedIdleTimeout: Equatable, Sendable {
  /// The power that resting saves, and the assumed energy of a start before the first one was measured.
  public struct Costs: Equatable, Sendable {
    /// The difference between the power at work and at rest.
    public var watts: Double
    /// The assumed energy of a start before the first one, joules.
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
      /// Too few gaps have been seen, so break-even applies.
      case noHistory
      /// The timeout has the least expected cost.
      case learnt
      /// Recent gaps have differed from the learned gaps, so the timeout is near enough to break-even to stay below
      /// twice the optimum.
      case guarded
      /// All clients have come during the idle time for a long time, so the cost of a restart may have changed
      /// unnoticed. A restart is tried.
      case trial
    }

    public var seconds: Double
    public var ground: Ground
    /// The idle time that costs as much as a restart, seconds.
    public var breakEvenSeconds: Double
    /// The expected share of clients that come during the idle time.
    public var expectedReturns: Double
  }

  public var restarts = RestartCosts()
  public internal(set) var gaps = GapHistogram()
  /// The last gaps in seconds, the latest at the end.
  public internal(set) var recentGaps: [Double] = []
  /// The energy, in joules, by which timeouts have cost less than twice the optimum. A timeout may risk this energy.
  /// `nil` before the first decision.
  public internal(set) var savedJoules: Double?
  /// The energy of idle time since the last restart, joules. It is not kept across restarts of the service, which
  /// restart the device.
  public internal(set) var bridgedJoules = 0.0
  /// The number of gaps up to now.
  public internal(set) var gapCount = 0
  /// How often the last gaps have replaced the learned gaps.
  public internal(set) var changeCount = 0

  /// The minimum number of gaps to learn from.
  static let leastGaps = 3
  /// The length of the present gap is predicted from the learned gaps that are longer. This is the minimum of their
  /// total weight.
  static let leastLongerGaps = 0.9
  static let recentCount = 8
  /// The maximum of the savings, as a multiple of the cost of a restart.
  static let mostSavedRestarts = 5.0
  /// The initial savings, as a multiple of the cost of a restart.
  static let givenRestarts = 2.0
  /// The learned gaps are discarded if their timeout has cost too much over the last gaps: this number of restarts more
  /// than a timeout that is learned from the last gaps alone.
  static let changeRestarts = 3.0
  /// Savings are measured against slightly more than twice the optimum, so that the savings grow again after a mistake,
  /// and permit a new attempt.
  static let bound = 2.02
  /// The idle cost, as a multiple of the cost of a restart, from which a restart is tried. If clients always come
  /// during the idle time, there is no restart to measure. An estimate that is too high by chance would then stay for
  /// ever. The trial costs at most 5 % if the estimate is right.
  static let trialRestarts = 20.0
  /// The idle cost, as a multiple of the cost of a restart, from which a restart is tried if the last restart cost less
  /// than half of the estimate. The estimate is then doubtful.
  static let doubtedTrialRestarts = 4.0
  /// The longest break-even time, a week. It applies if staying on costs next to nothing, as with a supply monitor.
  static let mostSeconds = 7.0 * 86_400

  public init() {}

  /// Decides the idle timeout from now on. Takes microseconds.
  public func decide(_ costs: Costs) -> Decision {
    let restart = restarts.joules(after: 0, assuming: costs.assumedJoules)
    guard costs.watts > 0, costs.watts.isFinite else {
      return Decision(seconds: 0, ground: .nothingToSave, breakEvenSeconds: .infinity, expectedReturns: 0)
    }
    let breakEven = breakEven(costs)
    guard gapCount >= LearnedIdleTimeout.leastGaps else {
      return Decision(
        seconds: breakEven, ground: .noHistory, breakEvenSeconds: breakEven, expectedReturns: returns(within: breakEven)
      )
    }
    let best = best(costs)
    // If a client comes just after the timeout, the idle time and a restart may cost more than twice the optimum. The
    // saved energy must cover the difference.
    let safe = min(breakEven, max(0, breakEven - saved(restart) / costs.watts))
    let seconds = max(best, safe)
    if seconds > 0, isTrialDue(restart) {
      return Decision(seconds: 0, ground: .trial, breakEvenSeconds: breakEven, expectedReturns: 0)
    }
    return Decision(
      seconds: seconds, ground: seconds > best ? .guarded : .learnt, breakEvenSeconds: breakEven,
      expectedReturns: returns(within: seconds))
  }

  /// Learns from the gap before a client came.
  ///
  /// - Parameters:
  ///   - gap: the seconds since the last client left
  ///   - lingered: the learned idle timeout that applied, seconds; `nil` if the board file's applied
  public mutating func visited(after gap: Double, lingered: Double?, _ costs: Costs) {
    guard gap >= 0, gap.isFinite, costs.watts > 0 else { return }
    let restart = restarts.joules(after: 0, assuming: costs.assumedJoules)
    if let lingered {
      let optimum = LearnedIdleTimeout.optimum(gap, costs, restarts)
      let saved = saved(restart) + LearnedIdleTimeout.bound * optimum - loss(gap, lingered, costs)
      savedJoules = min(max(saved, 0), LearnedIdleTimeout.mostSavedRestarts * restart)
      bridgedJoules = gap > lingered ? 0 : bridgedJoules + costs.watts * gap
    }
    gaps.add(gap)
    recentGaps.append(gap)
    if recentGaps.count > LearnedIdleTimeout.recentCount { recentGaps.removeFirst() }
    gapCount += 1
    noticeChange(costs, restart)
  }

  /// Records a restart for any reason. The restart shows its cost, so that no trial is needed.
  ///
  /// - Parameters: see `RestartCosts.started`
  mutating func restarted(after off: Double, joules: Double, seconds: Double, isComplete: Bool) {
    restarts.started(after: off, joules: joules, seconds: seconds, isComplete: isComplete)
    bridgedJoules = 0
  }

  /// The expected time until the next client, in seconds, if there was none for `seconds`: the mean remaining time of
  /// the longer gaps; `nil` if there were too few longer gaps.
  func expectedPause(after seconds: Double) -> Double? {
    guard gapCount >= LearnedIdleTimeout.leastGaps else { return nil }
    var (weight, sum) = (0.0, 0.0)
    for bin in gaps.weights.indices where GapHistogram.middle(bin) > seconds {
      weight += gaps.weights[bin]
      sum += gaps.weights[bin] * (GapHistogram.middle(bin) - seconds)
    }
    return weight >= LearnedIdleTimeout.leastLongerGaps ? sum / weight : nil
  }

  private func saved(_ restart: Double) -> Double { savedJoules ?? LearnedIdleTimeout.givenRestarts * restart }

  /// Whether to switch off early once, to measure the cost of a start. The saved energy must cover this trial: if a
  /// client arrives soon after, the trial costs a start that the best timeout would have avoided.
  private func isTrialDue(_ restart: Double) -> Bool {
    let isDoubted = (restarts[.hot]?.deviatingCount ?? 0) < 0
    let count = isDoubted ? LearnedIdleTimeout.doubtedTrialRestarts : LearnedIdleTimeout.trialRestarts
    return bridgedJoules >= count * restart && saved(restart) >= restart
  }

  /// Discards the learned gaps if the last gaps contradict them.
  private mutating func noticeChange(_ costs: Costs, _ restart: Double) {
    guard gaps.weight > Double(recentGaps.count) else { return }
    var recent = GapHistogram()
    for gap in recentGaps { recent.weights[GapHistogram.bin(of: gap)] += 1 }
    let learnt = best(costs)
    let taught = best(costs, recent)
    let regret = recentGaps.reduce(0) { $0 + loss($1, learnt, costs) - loss($1, taught, costs) }
    guard regret > LearnedIdleTimeout.changeRestarts * restart else { return }
    gaps = recent
    changeCount += 1
  }

  private func breakEven(_ costs: Costs) -> Double {
    min(restarts.joules(after: 0, assuming: costs.assumedJoules) / costs.watts, LearnedIdleTimeout.mostSeconds)
  }

  private func best(_ costs: Costs) -> Double { best(costs, gaps) }

  /// The idle timeout with the least expected cost: none, the longest gap of some bin, or break-even.
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

  private func expectedLoss(_ idleTimeout: Double, _ costs: Costs, _ gaps: GapHistogram) -> Double {
    var joules = 0.0
    for bin in gaps.weights.indices where gaps.weights[bin] > 0 {
      joules += gaps.weights[bin] * loss(GapHistogram.middle(bin), idleTimeout, costs)
    }
    return joules
  }

  private func loss(_ gap: Double, _ idleTimeout: Double, _ costs: Costs) -> Double {
    LearnedIdleTimeout.loss(gap, idleTimeout, costs, restarts)
  }

  /// The cost of an idle timeout in a gap, including the restart if the gap is longer, joules.
  public static func loss(_ gap: Double, _ idleTimeout: Double, _ costs: Costs, _ restarts: RestartCosts) -> Double {
    if gap <= idleTimeout { return costs.watts * gap }
    return costs.watts * idleTimeout + restarts.joules(after: gap - idleTimeout, assuming: costs.assumedJoules)
  }

  /// The least possible cost of a gap whose length is known in advance, joules.
  public static func optimum(_ gap: Double, _ costs: Costs, _ restarts: RestartCosts) -> Double {
    // A little idle time can turn a warm start into a hot one.
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

/// The lengths of the gaps between clients, in bins of a quarter octave. Old gaps have less weight.
public struct GapHistogram: Equatable, Sendable {
  static let binsPerOctave = 4.0
  /// The upper edge of the first bin.
  static let shortestSeconds = 0.25
  /// The number of bins, from a quarter of a second to ten days. The last bin also counts longer gaps.
  public static let binCount = 88
  /// The effective number of remembered gaps.
  static let memory = 64.0

  public internal(set) var weights = [Double](repeating: 0, count: GapHistogram.binCount)

  public init() {}

  /// The total weight of the remembered gaps.
  public var weight: Double { weights.reduce(0, +) }

  static func bin(of seconds: Double) -> Int {
    guard seconds > shortestSeconds else { return 0 }
    return Int(min(Double(binCount - 1), (log2(seconds / shortestSeconds) * binsPerOctave).rounded(.up)))
  }

  /// The longest gap of a bin, seconds.
  public static func upperEdge(_ bin: Int) -> Double { shortestSeconds * exp2(Double(bin) / binsPerOctave) }

  /// The typical gap of a bin, seconds.
  static func middle(_ bin: Int) -> Double { shortestSeconds * exp2((Double(bin) - 0.5) / binsPerOctave) }

  public mutating func add(_ seconds: Double) {
    for bin in weights.indices { weights[bin] *= 1 - 1 / GapHistogram.memory }
    weights[GapHistogram.bin(of: seconds)] += 1
  }
}
