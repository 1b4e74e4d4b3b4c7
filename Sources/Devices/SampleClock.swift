import MonotonicTime

/// Gives each sample of a FIFO its time.
///
/// The chip's oscillator may be wrong by a few percent, and a burst is read whenever the reader's thread can run. The
/// clock therefore learns the true period and follows the read times of the bursts slowly, so that a late read does not
/// shift the times of the samples. The time of a data-ready edge is taken as it is.
struct SampleClock: Sendable {
  private static let phaseGain = 0.05
  private static let periodGain = 0.002
  private static let edgePeriodGain = 0.1

  private let nominalPeriod: Double
  /// The period in nanoseconds.
  private(set) var period: Double
  /// The time of the last sample in nanoseconds on the monotonic clock; `nil` before the first burst.
  private var last: Double?

  init(rateHz: Double) {
    nominalPeriod = 1e9 / rateHz
    period = nominalPeriod
  }

  /// Starts over after samples were lost.
  mutating func reset() { last = nil }

  /// Returns the time of the first of `count` samples and the period between them. The newest sample became ready at
  /// `edge`.
  mutating func stamp(_ count: Int, edge: MonotonicInstant) -> (first: Int64, period: Double) {
    let newest = Double(edge.nanoseconds)
    if let before = last {
      // The edge gives the newest sample's time exactly. Only the period, which gives the times of the samples before
      // it, has noise to average out.
      let measured = (newest - before) / Double(count)
      let isPlausible = abs(measured - nominalPeriod) < 0.1 * nominalPeriod
      if isPlausible { period += SampleClock.edgePeriodGain * (measured - period) }
    }
    last = newest
    return (Int64(newest - period * Double(count - 1)), period)
  }

  /// Returns the time of the first of `count` samples and the period between them. The samples were read at `readAt`.
  mutating func stamp(_ count: Int, readAt: MonotonicInstant) -> (first: Int64, period: Double) {
    let now = Double(readAt.nanoseconds)
    // The latest sample in the FIFO is half a period old on average.
    let measured = now - period / 2
    guard let before = last else {
      last = measured
      return (Int64(measured - period * Double(count - 1)), period)
    }
    let predicted = before + period * Double(count)
    let error = measured - predicted
    if abs(error) > 20 * nominalPeriod {
      // A deviation this large is not drift. The process or the chip was stopped, so the estimate starts again from
      // this observation.
      last = measured
      return (Int64(measured - period * Double(count - 1)), period)
    }
    period += SampleClock.periodGain * error / Double(count)
    period = min(max(period, nominalPeriod * 0.9), nominalPeriod * 1.1)
    let corrected = predicted + SampleClock.phaseGain * error
    last = corrected
    return (Int64(corrected - period * Double(count - 1)), period)
  }
}
