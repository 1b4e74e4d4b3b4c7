import MonotonicTime

/// Decides from the voltage of the battery which steps apply, and when the board must shut down.
///
/// A limit applies once the voltage has been below it for `grace`. It no longer applies once the voltage has been above
/// the limit plus the hysteresis for `grace`. One sample therefore changes nothing. Only consecutive samples count: if
/// the monitor fails or the machine is suspended, `grace` begins again. Without samples nothing changes.
///
/// Each method takes an event and returns the actions that the caller must perform. `next` says when the caller must
/// measure again. The lock, the clock and the monitor belong to the caller.
public struct BatteryPolicy: Sendable {
  public enum Level: Equatable, Sendable {
    case normal
    /// The battery is below the low voltage.
    ///
    /// - Parameter limit: how many of the limits in `BatterySettings.stepVolts` apply, at least 1
    case low(limit: Int)
    /// The board must shut down.
    case critical
  }

  public enum Effect: Equatable, Sendable {
    /// The level has changed, or is known for the first time.
    case level(Level, volts: Double)
    /// Shut the board down. This effect is repeated after a refusal.
    case shutDown(volts: Double)
  }

  /// When to measure again.
  public enum Next: Equatable, Sendable {
    /// Continue to measure. Call `missed` if no sample has come by `until`.
    case sample(until: MonotonicInstant)
    /// The monitor may sleep until this instant.
    case rest(until: MonotonicInstant)
  }

  /// A fall or a rise of the voltage beyond a limit, if this has not lasted for `grace` yet.
  private struct Trend {
    var isFall: Bool
    var since: MonotonicInstant
    /// The number of limits that apply if the trend lasts for `grace`. All samples since `since` permit this number.
    var rank: Int
  }

  /// How long the monitor may take for a sample. After a longer gap samples are not consecutive.
  static let patience = Duration.seconds(10)
  /// The pause after the first refused shutdown, which doubles with each further refusal, and the longest pause.
  private static let pauses = (first: Duration.seconds(60), longest: Duration.seconds(900))

  private let settings: BatterySettings
  private let limits: [Double]
  /// The number of limits that apply; `nil` while unknown.
  private var rank: Int?
  private var trend: Trend?
  private var sampleAt: MonotonicInstant?
  private var isCharging = false
  private var pause = BatteryPolicy.pauses.first
  /// The earliest time of the next shutdown request; `nil` before the first request.
  private var retryAt: MonotonicInstant?
  /// Until this instant, the board stays on because it has just started.
  private var staysOnUntil: MonotonicInstant
  public private(set) var next: Next

  public init(_ settings: BatterySettings, at now: MonotonicInstant) {
    self.settings = settings
    limits = settings.stepVolts + [settings.criticalVolts].compactMap { $0 }
    staysOnUntil = now + settings.afterStart
    next = .sample(until: now + BatteryPolicy.patience)
  }

  /// Whether the board stays on because it has just started, whatever the voltage.
  public func isStarting(at now: MonotonicInstant) -> Bool { now < staysOnUntil }

  /// Ends the time `afterStart` early, because an alarm has started the board and no person wants to log in.
  public mutating func startIsOver(at now: MonotonicInstant) { staysOnUntil = min(staysOnUntil, now) }

  /// The present level; `nil` before the first decision.
  public var level: Level? { rank.map(level) }

  /// The number of steps that apply.
  public var stepCount: Int {
    guard let rank, rank > 0 else { return 0 }
    return settings.criticalVolts == nil ? settings.steps.count : min(rank, settings.steps.count)
  }

  /// Whether samples may change the level before the monitor rests. A monitor that has given no sample decides nothing.
  public var isDeciding: Bool { trend != nil || rank == nil && sampleAt != nil }

  /// Whether the board must shut down. A battery that is being charged keeps the board on.
  public var mustShutDown: Bool { level == .critical && !isCharging }

  private func level(_ rank: Int) -> Level {
    if rank == 0 { return .normal }
    return settings.criticalVolts != nil && rank == limits.count ? .critical : .low(limit: rank)
  }

  /// Processes a sample.
  ///
  /// - Parameter isCharging: whether the current clearly flows into the battery
  public mutating func receive(volts: Double, isCharging: Bool, at now: MonotonicInstant) -> [Effect] {
    guard volts.isFinite else { return missed(at: now) }
    if let sampleAt, now - sampleAt > BatteryPolicy.patience { trend = nil }
    (sampleAt, self.isCharging) = (now, isCharging)
    var effects: [Effect] = []
    if let rank = changedRank(volts, at: now) {
      self.rank = rank
      effects.append(.level(level(rank), volts: volts))
      (retryAt, pause) = (nil, BatteryPolicy.pauses.first)
    }
    if mustShutDown, !isStarting(at: now), retryAt.map({ now >= $0 }) ?? true {
      effects.append(.shutDown(volts: volts))
      // The next samples must not request the shutdown again while the caller carries it out.
      retryAt = now + pause
    }
    next = isDeciding ? .sample(until: now + BatteryPolicy.patience) : .rest(until: now + settings.every)
    if mustShutDown, isStarting(at: now) { restAtMost(until: staysOnUntil) }
    if mustShutDown, let retryAt { restAtMost(until: retryAt) }
    return effects
  }

  private mutating func restAtMost(until limit: MonotonicInstant) {
    if case .rest(let until) = next { next = .rest(until: min(until, limit)) }
  }

  /// - Returns: the new rank; `nil` if it stays
  private mutating func changedRank(_ volts: Double, at now: MonotonicInstant) -> Int? {
    let present = rank ?? 0
    let target = rank(of: volts, from: present)
    if target == present {
      trend = nil
      return rank == nil ? present : nil
    }
    let isFall = target > present
    var trend = self.trend ?? Trend(isFall: isFall, since: now, rank: target)
    if trend.isFall != isFall { trend = Trend(isFall: isFall, since: now, rank: target) }
    trend.rank = isFall ? min(trend.rank, target) : max(trend.rank, target)
    guard now - trend.since >= settings.grace else {
      self.trend = trend
      return nil
    }
    // If this sample is beyond further limits, it begins another trend, which must last for `grace` too.
    self.trend = target == trend.rank ? nil : Trend(isFall: isFall, since: now, rank: target)
    return trend.rank
  }

  /// The number of limits that apply at a voltage.
  ///
  /// - Parameter present: the number that applies now
  private func rank(of volts: Double, from present: Int) -> Int {
    var rank = present
    while rank < limits.count, volts < limits[rank] { rank += 1 }
    // While the battery is being charged, the board stays on. After a shutdown it might never start again.
    if isCharging, present < rank, level(rank) == .critical { rank = max(present, rank - 1) }
    while rank > 0, volts > limits[rank - 1] + settings.hysteresisVolts { rank -= 1 }
    return rank
  }

  /// Records that the monitor has given no sample in time, or failed. The level stays.
  public mutating func missed(at now: MonotonicInstant) -> [Effect] {
    trend = nil
    next = .rest(until: now + settings.every)
    return []
  }

  /// Begins the next measurement.
  public mutating func look(at now: MonotonicInstant) { next = .sample(until: now + BatteryPolicy.patience) }

  /// Forgets the trend and begins the next measurement, after the machine was suspended.
  public mutating func resume(at now: MonotonicInstant) {
    (trend, sampleAt, retryAt) = (nil, nil, nil)
    look(at: now)
  }

  /// Records that the board could not be shut down. The policy requests the shutdown again, after growing pauses.
  public mutating func shutDownRefused(at now: MonotonicInstant) {
    retryAt = now + pause
    restAtMost(until: now + pause)
    pause = min(pause * 2, BatteryPolicy.pauses.longest)
  }
}
