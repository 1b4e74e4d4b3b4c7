import MonotonicTime

/// Decides when the machine sleeps, until when, and why it stays awake.
///
/// The machine sleeps once nothing has needed it for the idle time, if the next fix is far enough away. Each method
/// takes an event and returns the actions that the caller must perform. `nextLook` says when the caller must call
/// `look` again, if nothing changes before. The lock, the clocks and the machine belong to the caller.
public struct BoardSleepPolicy: Sendable {
  /// The next fix, for which devices must be woken.
  public struct NextFix: Equatable, Sendable {
    /// When the devices must be woken.
    public var wake: MonotonicInstant
    public var due: MonotonicInstant
    /// The holder that wants the fix.
    public var holder: String

    public init(wake: MonotonicInstant, due: MonotonicInstant, holder: String) {
      self.wake = wake
      self.due = due
      self.holder = holder
    }
  }

  /// The needs that a decision depends on.
  public struct Situation: Equatable, Sendable {
    /// The present needs, as clauses; empty if nothing needs the machine.
    public var needs: [String]
    /// The next fix; `nil` if no further fix is planned.
    public var next: NextFix?

    public init(needs: [String] = [], next: NextFix? = nil) {
      self.needs = needs
      self.next = next
    }
  }

  /// A sleep that begins now.
  public struct Plan: Equatable, Sendable {
    /// The fix for which the machine wakes; `nil` if no fix is planned, so that no alarm ends the sleep.
    public var fix: NextFix?
    /// When the alarm must wake the machine; `nil` without a fix.
    public var alarm: MonotonicInstant?
  }

  /// Why the machine stays awake.
  public enum Stay: Equatable, Sendable {
    case needed([String])
    /// Nothing needs the machine, but the idle time or the time after a start is not over.
    case idle(until: MonotonicInstant)
    case fixTooSoon(NextFix, leastSeconds: Double)
    case noFixLater
    /// The machine could not be put to sleep, or would not wake again.
    case refused(String)

    /// Whether the owner must correct something so that the machine can sleep.
    public var isProblem: Bool {
      switch self {
      case .noFixLater, .refused: true
      case .needed, .idle, .fixTooSoon: false
      }
    }
  }

  public enum Effect: Equatable, Sendable {
    /// The reason for which the machine stays awake has changed.
    case stay(Stay)
    /// Check that the machine can sleep and would wake, then call `sleeps` and put it to sleep, or call `refused`.
    case prepare(Plan)
    /// Something needs the machine after all: do not put it to sleep.
    case abandon(Plan)
  }

  private enum Phase: Equatable {
    case awake
    case preparing(Plan)
    case asleep(Plan)
  }

  /// The pause after the first refusal, which doubles with each further refusal, and the longest pause.
  static let pauses = (first: Duration.seconds(60), longest: Duration.seconds(900))

  private let settings: BoardSleepSettings
  private var phase = Phase.awake
  private var idleSince: MonotonicInstant?
  /// Until this instant, the machine stays awake because a person may have started it.
  private var staysUntil: MonotonicInstant
  private var retryAt: MonotonicInstant?
  private var pause = BoardSleepPolicy.pauses.first
  /// The last refusal, which lasts until the next attempt.
  private var refusal: String?
  /// Why the machine stays awake, as last reported.
  public private(set) var stay: Stay?
  /// When to look again; `nil` if only a change matters.
  public private(set) var nextLook: MonotonicInstant?

  /// - Parameter wasWoken: whether the alarm started the hub, so that no person waits for it
  public init(_ settings: BoardSleepSettings, wasWoken: Bool, at now: MonotonicInstant) {
    self.settings = settings
    staysUntil = wasWoken ? now : now + settings.afterStart
  }

  /// The shortest useful sleep. The alarm must not come before the machine sleeps: a machine that is still shutting
  /// down when its alarm comes would never wake. A machine that is being suspended notices such an alarm, so a shorter
  /// sleep is safe.
  static func leastSleep(_ way: BoardSleepSettings.Way) -> Duration { way == .suspend ? .seconds(15) : .seconds(120) }

  /// Whether the machine is being put to sleep for this plan.
  public func isPreparing(_ plan: Plan) -> Bool { phase == .preparing(plan) }

  /// The plan of the present sleep; `nil` if the machine is awake.
  public var sleep: Plan? { if case .asleep(let plan) = phase { plan } else { nil } }

  /// Decides again, from everything that needs the machine.
  ///
  /// - Parameter wakeTime: how long before a wake of devices the alarm must come, as learned from earlier alarms
  public mutating func look(_ situation: Situation, wakeTime: Duration, at now: MonotonicInstant) -> [Effect] {
    var effects: [Effect] = []
    switch phase {
    case .asleep: return []
    case .preparing(let plan):
      let isSame = situation.needs.isEmpty && situation.next?.holder == plan.fix?.holder
      if isSame, situation.next.map({ $0.wake >= plan.alarm ?? now }) ?? true {
        nextLook = nil
        return []
      }
      phase = .awake
      effects.append(.abandon(plan))
    case .awake: break
    }
    return effects + decide(situation, wakeTime, at: now)
  }

  private mutating func decide(
    _ situation: Situation, _ wakeTime: Duration, at now: MonotonicInstant
  ) -> [Effect] {
    nextLook = nil
    guard situation.needs.isEmpty else {
      idleSince = nil
      return stays(.needed(situation.needs))
    }
    let since = idleSince ?? now
    idleSince = since
    if let retryAt, now < retryAt, let refusal {
      nextLook = retryAt
      return stays(.refused(refusal))
    }
    let idleEnd = max(since + settings.idle, staysUntil)
    guard now >= idleEnd else {
      nextLook = idleEnd
      return stays(.idle(until: idleEnd))
    }
    guard let fix = situation.next else {
      return settings.sleepsWithoutEnd ? prepare(Plan(fix: nil, alarm: nil)) : stays(.noFixLater)
    }
    let alarm = fix.wake.advanced(by: .zero - wakeTime)
    let least = BoardSleepPolicy.leastSleep(settings.way)
    guard alarm - now >= least else {
      return stays(.fixTooSoon(fix, leastSeconds: (least + wakeTime).inSeconds))
    }
    return prepare(Plan(fix: fix, alarm: alarm))
  }

  private mutating func prepare(_ plan: Plan) -> [Effect] {
    phase = .preparing(plan)
    retryAt = nil
    return [.prepare(plan)]
  }

  private mutating func stays(_ reason: Stay) -> [Effect] {
    if reason == stay { return [] }
    stay = reason
    return [.stay(reason)]
  }

  /// Records that the machine is being put to sleep now.
  ///
  /// - Returns: `false` if the plan was abandoned in the meantime
  public mutating func sleeps(_ plan: Plan) -> Bool {
    guard isPreparing(plan) else { return false }
    phase = .asleep(plan)
    return true
  }

  /// Records that the machine could not be put to sleep, or would not wake again. The policy tries again after a pause.
  /// Nothing happens if the plan was abandoned, or if the sleep is over.
  public mutating func refused(_ plan: Plan, _ reason: String, at now: MonotonicInstant) -> [Effect] {
    guard phase == .preparing(plan) || phase == .asleep(plan) else { return [] }
    phase = .awake
    retryAt = now + pause
    nextLook = retryAt
    pause = min(pause + pause, BoardSleepPolicy.pauses.longest)
    refusal = reason
    return stays(.refused(reason))
  }

  /// Records that the reason for the last refusal is gone, so that the next attempt need not wait for the pause.
  public mutating func refusalEnded() { (retryAt, pause) = (nil, BoardSleepPolicy.pauses.first) }

  /// Records that the machine has slept. The idle time begins again.
  ///
  /// - Parameter wasWoken: whether the alarm ended the sleep
  public mutating func woke(wasWoken: Bool, at now: MonotonicInstant) {
    (phase, idleSince, retryAt, refusal, stay) = (.awake, nil, nil, nil, nil)
    pause = BoardSleepPolicy.pauses.first
    if !wasWoken { staysUntil = now + settings.afterStart }
  }

  /// Makes the stored times earlier by the duration of a sleep that this policy did not begin, because the monotonic
  /// clock stood still during that sleep.
  public mutating func goBack(by slept: Duration) {
    staysUntil.moveBack(by: slept)
    retryAt?.moveBack(by: slept)
    idleSince = nil
  }
}

extension BoardSleepPolicy.Stay: CustomStringConvertible {
  /// A clause such as `log holds gps`.
  public var description: String {
    switch self {
    case .needed(let needs): needs.joined(separator: ", ")
    case .idle: "nothing needs the board; it sleeps after its idle time"
    case .fixTooSoon(let fix, let least):
      "the next fix, for \(fix.holder), is due in less than \(least.short) s, which is too soon for a sleep"
    case .noFixLater:
      "no fix is due later, so nothing would wake it: add 'requests', or set 'sleep.withoutEnd'"
    case .refused(let reason): reason
    }
  }
}
