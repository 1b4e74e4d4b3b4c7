/// The cost of making a device measure again, by its time off: learnt from each start.
///
/// A receiver knows the precise orbits of satellites for some two hours (hot), the rough ones for some days (warm), and
/// then nothing (cold). Without a backup supply it knows nothing from the first second on, which the figures then show.
public struct RestartCosts: Equatable, Sendable {
  public enum Kind: String, CaseIterable, Sendable {
    case hot
    case warm
    case cold

    /// Ephemerides are valid for two hours around their own time, the almanac for some days.
    public static let hotSeconds = 2.0 * 3600
    static let warmSeconds = 7.0 * 86_400

    /// - Parameter off: for how many seconds the device was
    public init(after off: Double) {
      self = off <= Kind.hotSeconds ? .hot : off <= Kind.warmSeconds ? .warm : .cold
    }
  }

  /// Of one kind of start.
  public struct Estimate: Equatable, Sendable {
    public var joules: Double
    public var seconds: Double
    /// How many starts it is made of.
    public var count: Int
    /// The last starts that were far off to the same side: joules and seconds.
    var deviating = SIMD2(0.0, 0.0)
    /// How many; negative where they were cheaper.
    var deviatingCount = 0
    /// How many in a row were given up, up to now.
    var unfinishedCount = 0

    init(joules: Double, seconds: Double, count: Int = 1) {
      self.joules = joules
      self.seconds = seconds
      self.count = count
    }

    /// This number of starts in a row that cost less than half or more than twice as much is no coincidence: it is
    /// another receiver, or another place for its antenna.
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

  /// A start that was given up counts at most as this multiple of the known cost.
  private static let mostOfIncomplete = 2.0
  /// After this number of them in a row they teach nothing more: a night without sky does not make a receiver more
  /// expensive to start. If it were believed, the receiver would never be switched off, and never show its real cost.
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

  /// The device measures, or was given up without a measurement.
  ///
  /// - Parameters:
  ///   - off: the seconds for which it had been off
  ///   - isComplete: `false` if it was given up: it would have cost more
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
      // Indoors it might have continued for hours, which says nothing about the savings of lingering.
      let most = min(joules, RestartCosts.mostOfIncomplete * known)
      self[kind]?.take(joules: most, seconds: seconds * most / joules)
      self[kind]?.unfinishedCount = unfinished + 1
    }
  }

  /// - Parameters:
  ///   - off: the seconds for which it will have been off
  ///   - assumed: the assumed cost of a start before the first one
  func joules(after off: Double, assuming assumed: Double) -> Double {
    // The longer it is off, the more it takes.
    switch Kind(after: off) {
    case .hot: hot?.joules ?? assumed
    case .warm: warm?.joules ?? max(assumed, hot?.joules ?? 0)
    case .cold: cold?.joules ?? max(assumed, warm?.joules ?? hot?.joules ?? 0)
    }
  }
}
