/// The cost of making a device measure again, by its time off. It is learned from each start.
///
/// A receiver keeps the precise orbits of satellites for about two hours (hot), and the rough ones for some days
/// (warm). After that it has nothing (cold). A receiver without a backup supply loses the orbits at once, and its costs
/// show this.
public struct RestartCosts: Equatable, Sendable {
  public enum Kind: String, CaseIterable, Sendable {
    case hot
    case warm
    case cold

    /// Ephemerides are valid for two hours around their own time, the almanac for some days.
    public static let hotSeconds = 2.0 * 3600
    static let warmSeconds = 7.0 * 86_400

    /// - Parameter off: the seconds that the device was off
    public init(after off: Double) {
      self = off <= Kind.hotSeconds ? .hot : off <= Kind.warmSeconds ? .warm : .cold
    }
  }

  /// The cost of one kind of start.
  public struct Estimate: Equatable, Sendable {
    public var joules: Double
    public var seconds: Double
    /// The number of starts in the estimate.
    public var count: Int
    /// The sums of the joules and of the seconds of the last starts, while all of them cost much more than the
    /// estimate, or all much less.
    var deviating = SIMD2(0.0, 0.0)
    /// The number of starts in `deviating`; negative if they cost less than the estimate.
    var deviatingCount = 0
    /// The number of consecutive starts without a measurement, up to now.
    var unfinishedCount = 0

    init(joules: Double, seconds: Double, count: Int = 1) {
      self.joules = joules
      self.seconds = seconds
      self.count = count
    }

    /// After this number of consecutive starts at less than half or more than twice the cost, the estimate is replaced.
    /// The receiver or the place of its antenna has then changed.
    private static let change = 3

    fileprivate mutating func take(joules: Double, seconds: Double) {
      let side = joules > 2 * self.joules ? 1 : 2 * joules < self.joules ? -1 : 0
      if side == 0 || side != deviatingCount.signum() { (deviating, deviatingCount) = (.zero, 0) }
      if side != 0 {
        deviating += SIMD2(joules, seconds)
        deviatingCount += side
        if abs(deviatingCount) == Estimate.change {
          let mean = deviating / Double(Estimate.change)
          self = Estimate(joules: mean[0], seconds: mean[1], count: Estimate.change)
          return
        }
      }
      count += 1
      let share = 1 / Double(min(count, 8))
      self.joules += (joules - self.joules) * share
      self.seconds += (seconds - self.seconds) * share
    }
  }

  /// A start without a measurement counts at most as this multiple of the known cost.
  private static let mostOfIncomplete = 2.0
  /// After this number of consecutive starts without a measurement, further ones are ignored. A long time without a
  /// view of the sky does not make a receiver more expensive to start. If these starts counted, the receiver would
  /// never be switched off, and its real cost would remain unknown.
  private static let mostUnfinished = 3

  private var hot: Estimate?
  private var warm: Estimate?
  private var cold: Estimate?

  public init() {}

  /// The cost of the starts of a kind; `nil` before the first.
  public internal(set) subscript(kind: Kind) -> Estimate? {
    get {
      switch kind {
      case .hot: hot
      case .warm: warm
      case .cold: cold
      }
    }
    set {
      switch kind {
      case .hot: hot = newValue
      case .warm: warm = newValue
      case .cold: cold = newValue
      }
    }
  }

  /// Records that the device measures, or that the start was given up.
  ///
  /// - Parameters:
  ///   - off: the seconds that the device had been off
  ///   - isComplete: `false` if the start was given up, so that it would have cost more
  public mutating func started(after off: Double, joules: Double, seconds: Double, isComplete: Bool = true) {
    guard joules >= 0, seconds >= 0 else { return }
    let kind = Kind(after: off)
    guard let known = self[kind]?.joules else {
      if isComplete { self[kind] = Estimate(joules: joules, seconds: seconds) }
      return
    }
    if isComplete {
      self[kind]?.take(joules: joules, seconds: seconds)
      self[kind]?.unfinishedCount = 0
    } else if joules > known, let unfinished = self[kind]?.unfinishedCount, unfinished < RestartCosts.mostUnfinished {
      // Indoors a start can go on for hours. That says little about the cost of a usual start, so only a part counts.
      let most = min(joules, RestartCosts.mostOfIncomplete * known)
      self[kind]?.take(joules: most, seconds: seconds * most / joules)
      self[kind]?.unfinishedCount = unfinished + 1
    }
  }

  /// The energy that a start will take, in joules.
  ///
  /// - Parameters:
  ///   - off: the seconds that the device will have been off
  ///   - assumed: the assumed energy of a start before the first one, joules
  func joules(after off: Double, assuming assumed: Double) -> Double {
    // A longer time off needs a more expensive start.
    switch Kind(after: off) {
    case .hot: hot?.joules ?? assumed
    case .warm: warm?.joules ?? max(assumed, hot?.joules ?? 0)
    case .cold: cold?.joules ?? max(assumed, warm?.joules ?? hot?.joules ?? 0)
    }
  }
}
