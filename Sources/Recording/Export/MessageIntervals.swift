/// How regularly a channel's messages came, in one file or in several.
public struct MessageIntervals: Sendable {
  /// Shorter ones are no pauses, however often messages come otherwise.
  public static let shortestPauseNanoseconds: UInt64 = 2_000_000_000
  /// A pause is longer than this number of usual intervals.
  public static let pauseFactor = 10.0

  public private(set) var count: UInt64 = 0
  public private(set) var firstNanoseconds: UInt64?
  public private(set) var lastNanoseconds: UInt64?
  private var longestNanoseconds: UInt64 = 0
  /// From the first to the last message of each of the files before, and how many intervals there are in that.
  private var before = (nanoseconds: UInt64(0), intervalCount: UInt64(0))
  /// Of the present file.
  private var present: (first: UInt64, last: UInt64, count: UInt64)?
  /// Those that may be pauses; there are no more than seconds in the recording.
  private var long: [UInt64] = []
  /// Intervals by their size, eight steps to each power of two: enough to tell the usual one.
  private var histogram = [UInt32](repeating: 0, count: 64 * 8)

  public init() {}

  /// The messages that follow are of another file, which may be of the same time, or of another.
  public mutating func beginFile() {
    before = covered
    present = nil
  }

  /// Takes the log time of the next message.
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

  /// Fewer intervals have no rate worth telling.
  private static let leastIntervalCount = 4

  /// Messages a second in the period of the files; `nil` if there are too few of them.
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

  /// How often nothing came for longer than two seconds and than ten usual intervals.
  public var pauseCount: Int {
    let limit = usualNanoseconds * Self.pauseFactor
    return long.count { Double($0) > limit }
  }

  /// The median, to a sixteenth.
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
    // The three bits after the first one.
    let fraction = exponent >= 3 ? Int(interval >> UInt64(exponent - 3)) & 7 : 0
    return exponent * 8 + fraction
  }

  private static func middle(_ step: Int) -> Double {
    Double(UInt64(1) << UInt64(step / 8)) * (1 + (Double(step % 8) + 0.5) / 8)
  }
}
