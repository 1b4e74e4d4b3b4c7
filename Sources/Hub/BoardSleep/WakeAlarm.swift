/// The alarm of a real-time clock whose date may differ from the system clock's. All values are seconds since 1970.
public struct WakeAlarm: Equatable, Sendable {
  /// The alarm by the real-time clock's date.
  public let instant: Int64
  /// How far the real-time clock is ahead of the system clock.
  public let difference: Int64

  /// How many seconds earlier and later than requested an alarm may be that was read back. For a clock whose alarm has
  /// no seconds (PCF8563, PCF8523, RV-3028), the kernel rounds alarms down to whole minutes. The board then wakes a
  /// little early, which only costs energy.
  private static let tolerance = (early: Int64(60), late: Int64(1))

  /// - Parameters:
  ///   - alarm: the alarm by the system clock, nanoseconds since 1970
  ///   - clock: the date of the real-time clock
  ///   - system: the system clock at the same time, nanoseconds since 1970
  public init(at alarm: Int64, clock: Int64, system: Int64) {
    let seconds = WakeAlarm.seconds(system)
    difference = clock - seconds
    // The real-time clock's fraction of a second is unknown, so the alarm is rounded down.
    instant = WakeAlarm.seconds(alarm) + difference
  }

  private static func seconds(_ nanoseconds: Int64) -> Int64 {
    let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return remainder < 0 ? quotient - 1 : quotient
  }

  /// Why the machine would not wake; `nil` if it would.
  ///
  /// - Parameters:
  ///   - clock: the date of the real-time clock after the alarm was set
  ///   - readBack: the alarm that the clock reports; `nil` if it is off
  ///   - least: the shortest time until the alarm, seconds
  public func problem(clock: Int64, readBack: Int64?, least: Int64) -> String? {
    guard let readBack else { return "the alarm of the real-time clock was set, but is off" }
    guard (instant - WakeAlarm.tolerance.early...instant + WakeAlarm.tolerance.late).contains(readBack) else {
      return "the alarm of the real-time clock was set, but the clock reports one \(readBack - instant) s away from "
        + "it: another program may have set it, or the clock cannot hold it"
    }
    guard readBack > clock else { return "the alarm would be in the past by the real-time clock" }
    guard readBack - clock >= least else {
      return "the alarm would come \(readBack - clock) s from now by the real-time clock, which is too soon"
    }
    return nil
  }

  /// How much earlier than requested the alarm comes, because the clock rounds it down, seconds.
  public func secondsEarly(readBack: Int64) -> Int64 { max(0, instant - readBack) }
}

/// Decides whether the system clock is certain enough for an alarm.
///
/// The system clock is certain while a receiver or a time server confirms it. A sleep ends the confirmation, because
/// the monotonic clock, which measures the age of the confirmation, stands still during a sleep. The real-time clock
/// keeps running. If its difference from the system clock is the same as at the confirmation, both clocks have run
/// correctly since then.
public struct ClockTrust: Codable, Equatable, Sendable {
  /// The system clock at the last confirmation, nanoseconds since 1970.
  public private(set) var confirmedAt: Int64
  /// How far the real-time clock was ahead of the system clock at the last confirmation, seconds.
  public private(set) var difference: Int64

  /// The difference between the two clocks may change by this number of seconds without any drift. Each clock is read
  /// in whole seconds, and after a suspension the kernel sets the system clock by the real-time clock's whole seconds.
  private static let tolerance = 3.0
  private static let drift = 1e-4
  /// The maximum age of a confirmation, seconds. After this time the clocks may have drifted by a minute.
  private static let most = 7 * 86_400.0

  /// - Parameters:
  ///   - system: the system clock, nanoseconds since 1970
  ///   - clock: the date of the real-time clock, seconds since 1970
  public init(system: Int64, clock: Int64) {
    confirmedAt = system
    difference = WakeAlarm(at: system, clock: clock, system: system).difference
  }

  /// Whether the system clock is still certain.
  public func holds(system: Int64, clock: Int64) -> Bool {
    let age = Double(system - confirmedAt) / 1e9
    let now = WakeAlarm(at: system, clock: clock, system: system).difference
    return (-1...ClockTrust.most).contains(age)
      && abs(Double(now - difference)) <= ClockTrust.tolerance + ClockTrust.drift * age
  }
}
