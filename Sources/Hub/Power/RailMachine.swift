import HardwareIO
import MonotonicTime
import Publishing

/// Decides when the line of a supply is driven, and to which level.
///
/// It only decides: its methods take an event and return the actions. The line, the lock, the clock and the threads
/// belong to `PowerRail`. One thread at a time drives the line, from an effect or answer that says `drive` to the call
/// that reports the result; in between every other thread is told to wait.
struct RailMachine: Sendable {
  typealias Supply = PowerRail.Supply

  enum Effect: Equatable {
    case nothing
    /// Drive the line low, then call `droveLow`.
    case driveLow
    /// Call `look` at that instant.
    case lookAgain(at: MonotonicInstant)
  }

  /// The next action of a device that requires the supply.
  enum Answer: Equatable {
    case granted(since: MonotonicInstant)
    /// Drive the line high, then call `droveHigh`.
    case driveHigh
    /// The supply has to stay off until then. Ask again at that instant, or when the supply changes.
    case rest(until: MonotonicInstant)
    /// Another thread drives the line. Ask again when the supply changes.
    case busy
  }

  /// How driving the line high ended.
  enum HighResult: Equatable {
    case high
    /// The line could not be opened: nothing has changed.
    case unopened
    /// The line was driven low again.
    case low
    /// The line could not be driven low again.
    case unknown(HardwareError)
  }

  /// A line that cannot be driven low is tried again ever less often.
  static let backoff = Backoff(initial: .seconds(1), maximum: .seconds(60))

  private(set) var supply: Supply
  /// Whether the line has been driven to a level at all.
  private(set) var hasBeenDriven = false
  private let isSwitched: Bool
  /// The least time on that the last device to require the supply asks for.
  private var minimumOn = Duration.zero
  /// How often in a row the line could not be driven low.
  private var failures = 0
  /// The users that were cut off while a thread drove the line high for them.
  private var withdrawn: [String] = []
  /// Whether the process is about to end: no least time on holds any more.
  private var isEnding = false

  init(isSwitched: Bool, now: MonotonicInstant) {
    self.isSwitched = isSwitched
    supply = Supply(isOn: !isSwitched, users: [], since: isSwitched ? nil : now)
  }

  /// The supply has been off since an instant in the run of a hub before this one.
  mutating func wasOff(since instant: MonotonicInstant) {
    if isSwitched, !supply.isOn, supply.since == nil, !supply.isBeingSwitched { supply.since = instant }
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
    if !supply.isOn, let end = restEnd(minimumOff), end > now { return .rest(until: end) }
    supply.isBeingSwitched = true
    // What was cut while its last run let go of the supply says nothing of this one.
    withdrawn.removeAll { $0 == user }
    return .driveHigh
  }

  /// Until when the supply has to stay off; `nil` if it is on or has been off since before the hub began.
  func restEnd(_ minimumOff: Duration) -> MonotonicInstant? {
    supply.isOn ? nil : supply.since.map { $0 + minimumOff }
  }

  /// - Returns: since when the supply is on; `nil` if it is not, or not for this user any more
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

  /// Ends what `require` began.
  ///
  /// - Parameter early: before its least time on has passed
  mutating func release(for user: String, early: Bool = false, _ now: MonotonicInstant) -> Effect {
    guard let index = supply.users.firstIndex(of: user) else { return .nothing }
    supply.users.remove(at: index)
    return settle(now, early: early)
  }

  /// The device does not get the supply any more, whatever its reader is doing.
  mutating func cut(for user: String, _ now: MonotonicInstant) -> Effect {
    supply.sleepers.removeAll { $0 == user }
    if supply.users.contains(user) { return release(for: user, early: true, now) }
    if supply.isBeingSwitched { withdrawn.append(user) }
    return settle(now, early: true)
  }

  /// A device that fell asleep needs the supply for that, and is not its user any more.
  mutating func rest(_ user: String) {
    guard let index = supply.users.firstIndex(of: user) else { return }
    supply.users.remove(at: index)
    supply.sleepers.append(user)
  }

  /// Ends what `rest` began.
  mutating func endRest(of sleeper: String, _ now: MonotonicInstant) -> Effect {
    guard supply.sleepers.contains(sleeper) else { return .nothing }
    supply.sleepers.removeAll { $0 == sleeper }
    return settle(now)
  }

  /// The process is about to end.
  mutating func end(_ now: MonotonicInstant) -> Effect {
    isEnding = true
    return settle(now)
  }

  /// The time for which `lookAgain` asked has come, or a device on this supply stops.
  mutating func look(_ now: MonotonicInstant) -> Effect { settle(now) }

  private mutating func settle(_ now: MonotonicInstant, early: Bool = false) -> Effect {
    guard isSwitched, isUnused, !supply.isBeingSwitched, supply.isOn || supply.problem != nil else { return .nothing }
    if supply.problem == nil, !early, !isEnding, let since = supply.since, since + minimumOn > now {
      return .lookAgain(at: since + minimumOn)
    }
    supply.isBeingSwitched = true
    return .driveLow
  }

  /// Whatever a previous hub left; nothing if the supply is in use.
  mutating func makeSafe() -> Effect {
    guard isSwitched, isUnused, !supply.isBeingSwitched, !supply.isOn || supply.problem != nil else { return .nothing }
    supply.isBeingSwitched = true
    return .driveLow
  }

  /// - Parameter problem: why the line could not be driven low; `nil` if it was
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
    // A line that has never been there is not known to be on; any other one may be.
    let isMissing = if case .notFound = problem { !hasBeenDriven } else { false }
    if !supply.isOn, !isMissing { (supply.isOn, supply.since) = (true, now) }
    return .lookAgain(at: now + delay)
  }

  private var delay: Duration { RailMachine.backoff.delay(afterFailures: failures) }
}
