/// The data that the hub needs after a sleep of the machine, and the totals of all sleeps.
public struct BoardSleepMemory: Codable, Equatable, Sendable {
  /// A sleep that has begun. Times are the system clock's, nanoseconds since 1970.
  public struct Sleep: Codable, Equatable, Sendable {
    public var way: BoardSleepSettings.Way
    public var beganAt: Int64
    /// When the alarm wakes the machine; `nil` for a sleep without an alarm.
    public var alarmAt: Int64?
    /// The due time of the fix for which the alarm is set.
    public var dueAt: Int64?
    /// The holder that wants this fix.
    public var holder: String?

    public init(_ way: BoardSleepSettings.Way, beganAt: Int64, alarmAt: Int64?, dueAt: Int64?, holder: String?) {
      self.way = way
      self.beganAt = beganAt
      self.alarmAt = alarmAt
      self.dueAt = dueAt
      self.holder = holder
    }
  }

  /// The sleep that has begun and not ended; `nil` while the machine is awake.
  public var sleep: Sleep?
  public var wakeTimes = BoardWakeTimes()
  public var trust: ClockTrust?
  public var sleepCount = 0
  public var asleepSeconds = 0.0

  public init() {}

  /// Whether all numbers are plausible. The numbers come from a file, which may have been changed, and sums of absurd
  /// numbers do not fit an integer.
  public var isPlausible: Bool {
    // Instants until the year 2100 are possible.
    let instants: ClosedRange<Int64> = 0...4_102_444_800_000_000_000
    if let sleep {
      let named: [Int64] = [sleep.beganAt, sleep.alarmAt ?? 0, sleep.dueAt ?? 0]
      guard named.allSatisfy({ instants.contains($0) }) else { return false }
      // The alarm comes at most a few minutes before the fix, so a difference of more than a day is not plausible.
      if let due = sleep.dueAt, let alarm = sleep.alarmAt, !(0...86_400_000_000_000).contains(due - alarm) {
        return false
      }
    }
    if let trust {
      guard instants.contains(trust.confirmedAt), (-10_000_000_000...10_000_000_000).contains(trust.difference) else {
        return false
      }
    }
    return (0...1_000_000_000).contains(sleepCount) && (0...1e10).contains(asleepSeconds)
  }

  /// Ends the sleep, and learns from it.
  ///
  /// - Parameters:
  ///   - system: the system clock, nanoseconds since 1970
  ///   - slept: the time for which the machine slept, if its clocks measured that
  /// - Returns: why the machine woke; `nil` if it had not slept
  public mutating func wake(at system: Int64, slept: Double? = nil) -> BoardWake? {
    guard let sleep else { return nil }
    self.sleep = nil
    let wake = BoardWake(sleep, at: system)
    // If the system clock was set during the sleep, the difference may be far from the duration of the sleep.
    let seconds = slept ?? Double(system - sleep.beganAt) / 1e9
    if seconds >= 0, seconds < 400 * 86_400 { asleepSeconds += seconds }
    sleepCount += 1
    if case .alarm(let late) = wake.cause { wakeTimes.add(late, sleep.way) }
    return wake
  }
}

/// Why the machine woke, and how late.
public struct BoardWake: Equatable, Sendable {
  public enum Cause: Equatable, Sendable {
    /// The alarm woke the machine, this number of seconds ago.
    case alarm(secondsAgo: Double)
    /// Something else woke the machine, this number of seconds before the alarm.
    case early(seconds: Double)
    /// Something else woke the machine. The alarm was due this number of seconds ago, and did not wake it.
    case missed(secondsAgo: Double)
    /// Something woke the machine, and no alarm was set.
    case withoutAlarm
  }

  /// An alarm may seem to come up to five seconds early, because the clock drifts during the sleep.
  private static let earliest = -5.0

  public let cause: Cause
  public let sleep: BoardSleepMemory.Sleep
  private let system: Int64

  init(_ sleep: BoardSleepMemory.Sleep, at system: Int64) {
    self.sleep = sleep
    self.system = system
    guard let alarmAt = sleep.alarmAt else {
      cause = .withoutAlarm
      return
    }
    let late = Double(system - alarmAt) / 1e9
    if late < BoardWake.earliest {
      cause = .early(seconds: -late)
    } else if late > BoardWakeTimes.mostSeconds {
      cause = .missed(secondsAgo: late)
    } else {
      cause = .alarm(secondsAgo: max(0, late))
    }
  }

  /// Whether the alarm woke the machine, so that no person waits for it.
  public var isByAlarm: Bool { if case .alarm = cause { true } else { false } }

  /// The seconds until the fix is due; negative if the fix is late, and `nil` if no fix is planned.
  public var secondsUntilDue: Double? { sleep.dueAt.map { Double($0 - system) / 1e9 } }
}

extension BoardWake: CustomStringConvertible {
  /// A sentence without a full stop, such as `the board is awake: the alarm for request log came 21 s ago; the fix is due
  /// in 4 s`.
  public var description: String {
    let holder = sleep.holder.map { " for \($0)" } ?? ""
    var text = "the board is awake: "
    switch cause {
    case .alarm(let ago): text += "its alarm\(holder) came \(ago.tenths) s ago"
    case .early(let seconds): text += "something else woke it \(seconds.tenths) s before its alarm\(holder)"
    case .missed(let ago): text += "its alarm\(holder) was \(ago.tenths) s ago, and did not wake it"
    case .withoutAlarm: text += "something woke it, as no alarm was set"
    }
    if let until = secondsUntilDue {
      text += until >= 0 ? "; the fix is due in \(until.tenths) s" : "; the fix is \((-until).tenths) s late"
    }
    return text
  }
}

extension Double {
  fileprivate var tenths: String { ((self * 10).rounded() / 10).short }
}
