/// How regularly a channel's messages come, in one file or in several.
public struct MessageIntervals: Sendable {
  /// The shortest pause. A shorter interval does not count as a pause, even if messages usually come much faster.
  public static let shortestPauseNanoseconds: UInt64 = 2_000_000_000
  /// A pause is longer than this number of usual intervals.
  public static let pauseFactor = 10.0

  public private(set) var count: UInt64 = 0
  public private(set) var firstNanoseconds: UInt64?
  public private(set) var lastNanoseconds: UInt64?
  private var longestNanoseconds: UInt64 = 0
  /// For all earlier files together: the time from the first to the last message, and the number of intervals.
  private var before = (nanoseconds: UInt64(0), intervalCount: UInt64(0))
  /// The first message, the last message and the count of the present file.
  private var present: (first: UInt64, last: UInt64, count: UInt64)?
  /// The intervals that may be pauses. Each is longer than the shortest pause, so their number stays small.
  private var long: [UInt64] = []
  /// A histogram of intervals, with eight steps per power of two. This is precise enough to find the usual interval.
  private var histogram = [UInt32](repeating: 0, count: 64 * 8)

  public init() {}

  /// Starts with the messages of another file. Its period may overlap the previous one.
  public mutating func beginFile() {
    before = covered
    present = nil
  }

  /// Adds the log time of the next message.
  public mutating func add(logTimeNanoseconds time: UInt64) {
    count += 1
    let file = present ?? (time, time, 0)
    present = (min(file.first, time), max(file.last, time), file.count + 1)
    defer { lastNanoseconds = max(time, lastNanoseconds ?? time) }
    firstNanoseconds = min(time, firstNanoseconds ?? time)
    guard let lastNanoseconds, time > lastNanoseconds else { return }
    let interval = time - lastNanoseconds
    longestNanoseconds = max(longestNanoseconds, interval)
    if interval > Self.shortestPauseNanoseconds { long.append(interval) }
    histogram[Self.step(interval)] &+= 1
  }

  /// The minimum number of intervals for a rate.
  private static let leastIntervalCount = 4

  /// The messages per second during the files' own periods; `nil` if there are too few messages.
  public var meanRateHz: Double? {
    let covered = covered
    guard covered.nanoseconds > 0, covered.intervalCount >= Self.leastIntervalCount else { return nil }
    return Double(covered.intervalCount) / (Double(covered.nanoseconds) / 1e9)
  }

  private var covered: (nanoseconds: UInt64, intervalCount: UInt64) {
    guard let present else { return before }
    return (before.nanoseconds &+ (present.last - present.first), before.intervalCount + present.count - 1)
  }

  public var longestPauseSeconds: Double { Double(longestNanoseconds) / 1e9 }

  /// The number of pauses: intervals that are longer than two seconds and longer than ten usual intervals.
  public var pauseCount: Int {
    let limit = usualNanoseconds * Self.pauseFactor
    return long.count { Double($0) > limit }
  }

  /// The median interval, accurate to a sixteenth.
  private var usualNanoseconds: Double {
    let total = histogram.reduce(0) { $0 + UInt64($1) }
    var below: UInt64 = 0
    for (step, count) in histogram.enumerated() {
      below += UInt64(count)
      if count > 0, below * 2 >= total { return Self.middle(step) }
    }
    return 0
  }

  private static func step(_ interval: UInt64) -> Int {
    let exponent = 63 - interval.leadingZeroBitCount
    // These are the three bits after the highest one.
    let fraction = exponent >= 3 ? Int(interval >> UInt64(exponent - 3)) & 7 : 0
    return exponent * 8 + fraction
  }

  private static func middle(_ step: Int) -> Double {
    Double(UInt64(1) << UInt64(step / 8)) * (1 + (Double(step % 8) + 0.5) / 8)
  }
}
