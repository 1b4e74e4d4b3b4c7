import Devices
import MonotonicTime

/// The sleep mode of a receiver without holders. It is the mode with the least energy over the expected pause,
/// including the next start. If the pause is unknown, it is the mode with the least power.
///
/// This is a value without a clock. The hub makes one at the end of each run, and the benchmark's table uses the same
/// type.
public struct SleepChoice: Equatable, Sendable {
  /// A sleep mode, its power, and the costs of the starts after it.
  public struct Way: Equatable, Sendable {
    public var sleep: ReceiverSleep
    public var restWatts: Double
    /// The assumed energy, in joules, of a start after at most two hours, until such a start has been measured.
    public var assumedJoules: Double
    /// The assumed energy, in joules, of a later start, when the receiver's data is outdated, until such a start has
    /// been measured.
    public var assumedColdJoules: Double
    /// Whether the receiver keeps its data without the hub's help.
    public var keepsMemory = true
    /// The costs of starts after this mode.
    public var starts = RestartCosts()

    /// The energy of the start after a pause, joules.
    public func startJoules(after pause: Double) -> Double {
      starts.joules(after: pause, assuming: pause <= RestartCosts.Kind.hotSeconds ? assumedJoules : assumedColdJoules)
    }

    /// The energy of a pause of this length and of the start after it, joules.
    public func joules(of pause: Double) -> Double { restWatts * pause + startJoules(after: pause) }

    fileprivate var startCount: Int {
      RestartCosts.Kind.allCases.reduce(0) { $0 + (starts[$1]?.count ?? 0) }
    }
  }

  /// How long the receiver is expected to rest until a client needs it again.
  public enum Pause: Equatable, Sendable {
    /// Unknown; the pause may be long.
    case unknown
    /// The mean remaining time, in seconds, of earlier pauses that were longer than the present pause is already.
    case learnt(Double)
    /// The time until the next scheduled wake, seconds.
    case scheduled(Double)

    public var seconds: Double? {
      switch self {
      case .unknown: nil
      case .learnt(let seconds), .scheduled(let seconds): seconds
      }
    }
  }

  public let ways: [Way]
  public let pause: Pause
  /// The chosen mode; `nil` if there is none.
  public let chosen: Way?

  /// - Parameter ways: the modes; the first of two equally good ones is chosen
  public init(_ ways: [Way], for pause: Pause) {
    (self.ways, self.pause) = (ways, pause)
    // Over an endless pause, the start after it does not count.
    chosen = ways.min { first, second in
      guard let seconds = pause.seconds else { return first.restWatts < second.restWatts }
      return first.joules(of: seconds) < second.joules(of: seconds)
    }
  }

  /// The duration of a rest, in seconds, after which the supply should be switched off. By then the rest has cost as
  /// much energy as switching off would cost: the difference between a start after the supply was off and a start from
  /// the sleep mode. The total is therefore never more than twice the cost of the best choice. The supply is never
  /// switched off before the next scheduled wake, whose time is known. `nil` if the supply cannot be switched off, or
  /// need not be.
  public var secondsUntilOff: Double? {
    guard let chosen, chosen.sleep != .off, chosen.restWatts > 0, let off = ways.first(where: { $0.sleep == .off }),
      chosen.restWatts > off.restWatts
    else { return nil }
    // The data of a resting receiver can no longer be read, so the data is lost when the supply is switched off.
    let end = off.keepsMemory ? off.startJoules(after: 0) : max(off.startJoules(after: 0), off.assumedColdJoules)
    let more = end - chosen.startJoules(after: 0)
    let paying = max(SleepChoice.leastSeconds, more / (chosen.restWatts - off.restWatts))
    guard case .scheduled(let seconds) = pause else { return paying }
    return max(paying, seconds + SleepChoice.leastSeconds)
  }

  private static let leastSeconds = 1.0
}

extension SleepChoice.Pause {
  /// - Parameters:
  ///   - gap: the seconds until the next scheduled wake
  ///   - learned: the learned gaps between clients
  ///   - away: the seconds since the last client left; `nil` while a client is there, or if the last one was a schedule
  init(untilWake gap: Double?, _ learned: LearnedIdleTimeout, after away: Double?) {
    self =
      gap.map { .scheduled($0) } ?? away.flatMap { learned.expectedPause(after: $0) }.map { .learnt($0) } ?? .unknown
  }
}

extension SleepChoice {
  /// The sleep modes of a receiver; switching the supply off comes first, if possible.
  ///
  /// - Parameters:
  ///   - driver: the receiver's driver, if known
  ///   - watts: the receiver's power while it works
  ///   - learnt: the costs of starts after each mode
  public static func ways(
    of driver: ReceiverDriver, _ power: Board.Power, watts: Double, learnt: [ReceiverSleep: RestartCosts] = [:]
  ) -> [Way] {
    let isSwitched = power.switch != .none
    return ((isSwitched ? [.off] : []) + driver.sleeps(isSwitched: isSwitched)).map { sleep in
      let figures = ReceiverSleepFigures(sleep, of: driver, hasBackupBattery: power.hasBackupBattery)
      let settling = sleep == .off ? power.settleTime.inSeconds : 0
      let cold = max(figures.startSeconds, ReceiverSleepFigures.coldSeconds)
      return Way(
        sleep: sleep, restWatts: figures.milliamperes * power.supplyVolts / 1000,
        assumedJoules: watts * (figures.startSeconds + settling), assumedColdJoules: watts * (cold + settling),
        keepsMemory: sleep != .off || power.hasBackupBattery, starts: learnt[sleep] ?? RestartCosts())
    }
  }
}

extension SleepChoice {
  /// The explanation in sentences without a full stop.
  var explanation: [String] {
    guard let chosen else { return ["it stays on: it has no sleep mode, and no switch for its supply"] }
    let name = "'\(chosen.sleep.rawValue)'"
    var lines: [String] = []
    switch pause {
    case .unknown:
      lines.append(
        "chosen sleep mode: \(name), which draws the least power, because the length of the pause was unknown")
    case .learnt(let seconds):
      lines.append("chosen sleep mode: \(name), which uses the least energy over the usual pause of \(seconds.short) s")
    case .scheduled(let seconds):
      lines.append(
        "chosen sleep mode: \(name), which uses the least energy over the \(seconds.short) s until the next scheduled wake"
      )
    }
    let seconds = pause.seconds ?? 0
    for way in ways {
      let start = way.startJoules(after: seconds)
      let ground = way.startCount == 0 ? "from data sheets" : "from \(way.startCount) of its starts"
      let sum = pause.seconds.map { ", \(way.joules(of: $0).energy) in all" } ?? ""
      lines.append(
        "  \(way.sleep.rawValue): \((1000 * way.restWatts).short) mW, \(start.energy) for the start (\(ground))\(sum)")
    }
    if let seconds = secondsUntilOff {
      lines.append("for a pause of more than \(seconds.short) s the hub switches the supply off")
    }
    return lines
  }
}
