import Devices
import MonotonicTime

/// How a receiver rests that nobody wants: the way that takes the least over the pause that is expected, the start behind it
/// included.
///
/// A value, without a clock: the hub makes one at the end of each run, and the benchmark's table is made with the same.
public struct SleepChoice: Equatable, Sendable {
  /// A way to rest, and what it costs.
  public struct Way: Equatable, Sendable {
    public var sleep: ReceiverSleep
    /// Drawn while it rests.
    public var restWatts: Double
    /// What a start behind it takes within two hours, as long as none has been seen.
    public var assumedJoules: Double
    /// The same later, when nothing of what it knew is true any more.
    public var assumedColdJoules: Double
    /// Whether it knows then what it knew before, without its host's having asked it for that.
    public var keepsMemory = true
    /// What starts behind it have taken.
    public var starts = RestartCosts()

    /// What the start behind a pause of so many seconds takes.
    public func startJoules(after pause: Double) -> Double {
      starts.joules(after: pause, assuming: pause <= RestartCosts.Kind.hotSeconds ? assumedJoules : assumedColdJoules)
    }

    /// What a pause of so many seconds takes, its end included.
    public func joules(of pause: Double) -> Double { restWatts * pause + startJoules(after: pause) }

    fileprivate var startCount: Int {
      RestartCosts.Kind.allCases.reduce(0) { $0 + (starts[$1]?.count ?? 0) }
    }
  }

  /// How long the pause will be.
  public enum Pause: Equatable, Sendable {
    /// Nobody knows: it may last.
    case unknown
    /// As those before it were that lasted until now, on average; seconds.
    case learnt(Double)
    /// Until the next fix on a schedule, seconds.
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
  /// `nil` where there is no way to rest.
  public let chosen: Way?

  /// - Parameter ways: of two that take as much the first is chosen
  public init(_ ways: [Way], for pause: Pause) {
    (self.ways, self.pause) = (ways, pause)
    // Over a pause without end the start behind it does not count.
    chosen = ways.min { first, second in
      guard let seconds = pause.seconds else { return first.restWatts < second.restWatts }
      return first.joules(of: seconds) < second.joules(of: seconds)
    }
  }

  /// For how long the chosen way may go on before its supply is better switched off after all: until it has cost as much as that
  /// start would cost more. Whoever then switches off never pays more than twice what one would who had known how long the pause is.
  /// Not before the next fix on a schedule, whose time is known. `nil` where it cannot be switched off, or need not.
  public var secondsUntilOff: Double? {
    guard let chosen, chosen.sleep != .off, chosen.restWatts > 0, let off = ways.first(where: { $0.sleep == .off }),
      chosen.restWatts > off.restWatts
    else { return nil }
    // Once it rests nobody asks it any more for what it knows.
    let end = off.keepsMemory ? off.startJoules(after: 0) : max(off.startJoules(after: 0), off.assumedColdJoules)
    let more = end - chosen.startJoules(after: 0)
    let paying = max(SleepChoice.leastSeconds, more / (chosen.restWatts - off.restWatts))
    guard case .scheduled(let seconds) = pause else { return paying }
    return max(paying, seconds + SleepChoice.leastSeconds)
  }

  private static let leastSeconds = 1.0
}

extension SleepChoice.Pause {
  /// As far as it is known how long it will be.
  ///
  /// - Parameters:
  ///   - gap: how many seconds it is until the next fix on a schedule
  ///   - learned: what was learnt of visits
  ///   - away: for how many seconds nobody has come by now; `nil` where somebody is there, or comes on a schedule
  init(untilFix gap: Double?, _ learned: LearnedLinger, after away: Double?) {
    self =
      gap.map { .scheduled($0) } ?? away.flatMap { learned.expectedPause(after: $0) }.map { .learnt($0) } ?? .unknown
  }
}

extension SleepChoice {
  /// The ways of a receiver, its supply first where that can be switched.
  ///
  /// - Parameters:
  ///   - driver: of the receiver, as far as that is known
  ///   - watts: what it draws while it works
  ///   - learnt: what starts behind each way have taken
  public static func ways(
    of driver: ReceiverDriver, _ power: Board.Power, watts: Double, learnt: [ReceiverSleep: RestartCosts] = [:]
  ) -> [Way] {
    let isSwitched = power.switch != .none
    return ((isSwitched ? [.off] : []) + driver.sleeps(isSwitched: isSwitched)).map { sleep in
      let figures = ReceiverRestFigures(sleep, of: driver, hasBackupBattery: power.hasBackupBattery)
      let settling = sleep == .off ? power.settleTime.inSeconds : 0
      let cold = max(figures.startSeconds, ReceiverRestFigures.coldSeconds)
      return Way(
        sleep: sleep, restWatts: figures.milliamperes * power.supplyVolts / 1000,
        assumedJoules: watts * (figures.startSeconds + settling), assumedColdJoules: watts * (cold + settling),
        keepsMemory: sleep != .off || power.hasBackupBattery, starts: learnt[sleep] ?? RestartCosts())
    }
  }
}

extension SleepChoice {
  /// Sentences without a full stop.
  var explanation: [String] {
    guard let chosen else { return ["it has no way to rest: it works on"] }
    let name = "'\(chosen.sleep.rawValue)'"
    var lines: [String] = []
    switch pause {
    case .unknown: lines.append("rested by \(name), which draws least: nobody knew how long the pause would be")
    case .learnt(let seconds):
      lines.append("rested by \(name), which takes least over a pause of \(seconds.short) s, as pauses were")
    case .scheduled(let seconds):
      lines.append("rested by \(name), which takes least over the \(seconds.short) s until the next fix on a schedule")
    }
    let seconds = pause.seconds ?? 0
    for way in ways {
      let start = way.startJoules(after: seconds)
      let ground = way.startCount == 0 ? "by data sheets" : "by \(way.startCount) of its starts"
      let sum = pause.seconds.map { ", \(way.joules(of: $0).energy) in all" } ?? ""
      lines.append(
        "  \(way.sleep.rawValue): \((1000 * way.restWatts).short) mW, \(start.energy) for the start (\(ground))\(sum)")
    }
    if let seconds = secondsUntilOff {
      lines.append("a pause of more than \(seconds.short) s has its supply switched off all the same")
    }
    return lines
  }
}
