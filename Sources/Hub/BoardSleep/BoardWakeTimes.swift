/// Learns how long the machine takes from the alarm until the hub can wake devices.
public struct BoardWakeTimes: Codable, Equatable, Sendable {
  private static let memory = 10
  /// From this many sleeps on, the times themselves show how much they differ.
  private static let enough = 3
  /// The longest time that is learned. A machine that takes longer was probably not started by the alarm.
  static let mostSeconds = 600.0
  /// Covers the rounding of the alarm and of the clock by which it is set: both count whole seconds.
  private static let marginSeconds = 2.0

  /// The last learned times for each kind of sleep, in seconds, the latest at the end.
  public private(set) var suspend: [Double] = []
  public private(set) var poweroff: [Double] = []

  public init() {}

  public mutating func add(_ seconds: Double, _ way: BoardSleepSettings.Way) {
    guard (0...BoardWakeTimes.mostSeconds).contains(seconds) else { return }
    switch way {
    case .suspend: suspend = Array((suspend + [seconds]).suffix(BoardWakeTimes.memory))
    case .poweroff: poweroff = Array((poweroff + [seconds]).suffix(BoardWakeTimes.memory))
    }
  }

  /// How many seconds before a wake of devices the alarm must come. Before the first sleep this is long, because an
  /// early alarm only costs energy, and a late alarm makes the fix late.
  public func lead(_ way: BoardSleepSettings.Way) -> Double {
    let known = (way == .suspend ? suspend : poweroff).filter { (0...BoardWakeTimes.mostSeconds).contains($0) }
    guard let longest = known.max() else { return way == .suspend ? 10 : 90 }
    let median = known.sorted()[known.count / 2]
    // Starts of one machine were seen to differ by half (a check of its disk, work beside the start).
    let few = known.count < BoardWakeTimes.enough ? longest / 2 : 0
    return longest + (longest - median) / 2 + few + BoardWakeTimes.marginSeconds
  }
}
