import HardwareIO
import MonotonicTime
import Publishing

/// Decides when the line of a supply is driven, and to which level.
///
/// The methods take an event and return the actions. The line, the lock, the clock and the threads belong to
/// `PowerRail`. One thread at a time drives the line, from `driveLow` or `driveHigh` to the call that reports the
/// result. In between, every other thread must wait.
struct RailMachine: Sendable {
  typealias Supply = PowerRail.Supply

  enum Effect: Equatable {
    case nothing
    /// Drive the line low, then call `droveLow`.
    case driveLow
    /// Call `look` at this instant.
    case lookAgain(at: MonotonicInstant)
  }

  /// The next action for a device that requires the supply.
  enum Answer: Equatable {
    case granted(since: MonotonicInstant)
    /// Drive the line high, then call `droveHigh`.
    case driveHigh
    /// The supply must stay off until this instant. Ask again then, or when the supply changes.
    case rest(until: MonotonicInstant)
    /// Another thread drives the line. Ask again when the supply changes.
    case busy
  }

  /// The result of driving the line high.
  enum HighResult: Equatable {
    case high
    /// The line could not be opened, and nothing has changed.
    case unopened
    /// The line was driven low again.
    case low
    /// The line could not be driven low again.
    case unknown(HardwareError)
  }

  /// The growing pauses between attempts to drive a line low.
  static let backoff = Backoff(initial: .seconds(1), maximum: .seconds(60))

  private(set) var supply: Supply
  /// Whether the line has ever been driven.
  private(set) var hasBeenDriven = false
  private let isSwitched: Bool
  /// The minimum time on of the last device that required the supply.
  private var minimumOn = Duration.zero
  /// The number of consecutive failures to drive the line low.
  private var failures = 0
  /// The users that lost the supply while a thread drove the line high for them.
  private var withdrawn: [String] = []
  /// Whether the process is about to end. The rail may then be switched off before it has been on for its minimum time.
  private var isEnding = false

  init(isSwitched: Bool, now: MonotonicInstant) {
    self.isSwitched = isSwitched
    supply = Supply(isOn: !isSwitched, users: [], since: isSwitched ? nil : now)
  }

  /// Records when a previous run of the hub switched the supply off, so that the minimum off time counts from then.
  mutating func wasOff(since instant: MonotonicInstant) {
    if isSwitched, !supply.isOn, supply.since == nil, !supply.isBeingSwitched { supply.since = instant }
  }

  /// Counts a suspension of the machine into the time for which the supply has been off.
  mutating func resume(after slept: Duration) {
    if !supply.isOn { supply.since?.moveBack(by: slept) }
  }

  private var isUnused: Bool { supply.users.isEmpty && supply.sleepers.isEmpty }

  // MARK: On

  mutating func require(
    for user: String, minimumOff: Duration, minimumOn: Duration, _ now: MonotonicInstant
  ) -> Answer {
    guard !supply.isBeingSwitched else { return .busy }
    if !isSwitched || supply.isOn && supply.problem == nil {
      join(user, minimumOn)
      return .granted(since: supply.since ?? now)
    }
    if !supply.isOn, let end = offEnd(minimumOff), end > now { return .rest(until: end) }
    supply.isBeingSwitched = true
    // A withdrawal during the user's previous run does not affect this run.
    withdrawn.removeAll { $0 == user }
    return .driveHigh
  }

  /// The time until which the supply must stay off; `nil` if it is on, or has been off since before the hub began.
  func offEnd(_ minimumOff: Duration) -> MonotonicInstant? {
    supply.isOn ? nil : supply.since.map { $0 + minimumOff }
  }

  /// Records the result of driving the line high for a device.
  ///
  /// - Returns: the time since which the supply is on, and what to do next. The time is `nil` if the line is not high,
  ///   or if `cut` took the supply from the device in the meantime
  mutating func droveHigh(
    for user: String, minimumOn: Duration, _ result: HighResult, _ now: MonotonicInstant
  ) -> (onSince: MonotonicInstant?, effect: Effect) {
    supply.isBeingSwitched = false
    let isWithdrawn = withdrawn.contains(user)
    withdrawn.removeAll { $0 == user }
    switch result {
    case .high:
      if !supply.isOn { (supply.isOn, supply.since) = (true, now) }
      isLowAtLast()
      if isWithdrawn { return (nil, settle(now, early: true)) }
      join(user, minimumOn)
      return (supply.since ?? now, .nothing)
    case .unopened: return (nil, supply.problem == nil ? settle(now) : .lookAgain(at: now + delay))
    case .low:
      (supply.isOn, supply.since) = (false, now)
      isLowAtLast()
      return (nil, .nothing)
    case .unknown(let problem): return (nil, couldNotBeDriven(problem, now))
    }
  }

  private mutating func join(_ user: String, _ minimumOn: Duration) {
    supply.users.append(user)
    supply.sleepers.removeAll { $0 == user }
    self.minimumOn = minimumOn
  }

  // MARK: Off

  /// Ends a device's use of the supply, which `require` began.
  ///
  /// - Parameter early: whether to ignore the minimum time on
  mutating func release(for user: String, early: Bool = false, _ now: MonotonicInstant) -> Effect {
    guard let index = supply.users.firstIndex(of: user) else { return .nothing }
    supply.users.remove(at: index)
    return settle(now, early: early)
  }

  /// Takes the supply from a device, whatever its reader is doing.
  mutating func cut(for user: String, _ now: MonotonicInstant) -> Effect {
    supply.sleepers.removeAll { $0 == user }
    if supply.users.contains(user) { return release(for: user, early: true, now) }
    if supply.isBeingSwitched { withdrawn.append(user) }
    return settle(now, early: true)
  }

  /// Turns a user that fell asleep into a sleeper, which still needs the supply.
  mutating func rest(_ user: String) {
    guard let index = supply.users.firstIndex(of: user) else { return }
    supply.users.remove(at: index)
    supply.sleepers.append(user)
  }

  /// Ends the need of a sleeper for the supply.
  mutating func endRest(of sleeper: String, _ now: MonotonicInstant) -> Effect {
    guard supply.sleepers.contains(sleeper) else { return .nothing }
    supply.sleepers.removeAll { $0 == sleeper }
    return settle(now)
  }

  /// Switches the supply off, because the process is about to end.
  mutating func end(_ now: MonotonicInstant) -> Effect {
    isEnding = true
    return settle(now)
  }

  /// Continues at the instant of `lookAgain`, or because a device on this supply stops.
  mutating func look(_ now: MonotonicInstant) -> Effect { settle(now) }

  private mutating func settle(_ now: MonotonicInstant, early: Bool = false) -> Effect {
    guard isSwitched, isUnused, !supply.isBeingSwitched, supply.isOn || supply.problem != nil else { return .nothing }
    if supply.problem == nil, !early, !isEnding, let since = supply.since, since + minimumOn > now {
      return .lookAgain(at: since + minimumOn)
    }
    supply.isBeingSwitched = true
    return .driveLow
  }

  /// Drives the line low, however a previous hub left it. Does nothing if the supply is in use.
  mutating func makeSafe() -> Effect {
    guard isSwitched, isUnused, !supply.isBeingSwitched, !supply.isOn || supply.problem != nil else { return .nothing }
    supply.isBeingSwitched = true
    return .driveLow
  }

  /// - Parameter problem: why the line could not be driven low; `nil` on success
  mutating func droveLow(_ problem: HardwareError?, _ now: MonotonicInstant) -> Effect {
    supply.isBeingSwitched = false
    if let problem { return couldNotBeDriven(problem, now) }
    if supply.isOn { (supply.isOn, supply.since) = (false, now) }
    isLowAtLast()
    return .nothing
  }

  private mutating func isLowAtLast() {
    (supply.problem, failures, hasBeenDriven) = (nil, 0, true)
  }

  private mutating func couldNotBeDriven(_ problem: HardwareError, _ now: MonotonicInstant) -> Effect {
    failures += 1
    supply.problem = problem
    // A line that has never existed counts as off. Any other line may be on.
    let isMissing = if case .notFound = problem { !hasBeenDriven } else { false }
    if !supply.isOn, !isMissing { (supply.isOn, supply.since) = (true, now) }
    return .lookAgain(at: now + delay)
  }

  private var delay: Duration { RailMachine.backoff.delay(afterFailures: failures) }
}
