/// How regularly a channel's messages came.
public struct MessageIntervals: Sendable {
  /// Shorter ones are no pauses, however often messages come otherwise.
  public static let shortestPauseNanoseconds: UInt64 = 2_000_000_000
  /// A pause is longer than so many usual intervals.
  public static let pauseFactor = 10.0

  public private(set) var count: UInt64 = 0
  public private(set) var firstNanoseconds: UInt64?
  public private(set) var lastNanoseconds: UInt64?
  private var longestNanoseconds: UInt64 = 0
  /// Those that may be pauses; there are no more than seconds in the recording.
  private var long: [UInt64] = []
  /// Intervals by their size, eight steps to each power of two: enough to tell the usual one.
  private var histogram = [UInt32](repeating: 0, count: 64 * 8)

  public init() {}

  /// Takes the log time of the next message.
  public mutating func add(logTimeNanoseconds time: UInt64) {
    count += 1
    defer { lastNanoseconds = max(time, lastNanoseconds ?? time) }
    firstNanoseconds = min(time, firstNanoseconds ?? time)
    guard let lastNanoseconds, time > lastNanoseconds else { return }
    let interval = time - lastNanoseconds
    longestNanoseconds = max(longestNanoseconds, interval)
    if interval > Self.shortestPauseNanoseconds { long.append(interval) }
    histogram[Self.step(interval)] &+= 1
  }

  /// Messages a second from the first to the last one; `nil` where there is no time between them.
  public var meanRateHz: Double? {
    guard let firstNanoseconds, let lastNanoseconds, lastNanoseconds > firstNanoseconds else { return nil }
    return Double(count - 1) / (Double(lastNanoseconds - firstNanoseconds) / 1e9)
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
    // The three bits behind the first one.
    let fraction = exponent >= 3 ? Int(interval >> UInt64(exponent - 3)) & 7 : 0
    return exponent * 8 + fraction
  }

  private static func middle(_ step: Int) -> Double {
    Double(UInt64(1) << UInt64(step / 8)) * (1 + (Double(step % 8) + 0.5) / 8)
  }
}
