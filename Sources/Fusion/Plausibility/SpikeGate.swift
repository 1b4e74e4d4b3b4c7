/// Keeps single wrong samples of a polled sensor away from the filters, and lets a real step through.
///
/// A sample far from the one before waits. When a third sample in a row agrees with it the step is real;
/// a spike of one or two samples is gone by then.
struct SpikeGate: Sendable {
  enum Verdict: Equatable, Sendable {
    case pass
    /// Not to be used: a spike, or the beginning of a step.
    case hold
    /// To be used: the value has stepped further than it can have moved.
    case step
  }

  /// This many samples in a row that agree are no spike; nor are this many that do not.
  private static let quorum = 3
  private static let patience = 6

  private var last: SIMD3<Double>?
  private var candidate = SIMD3<Double>.zero
  /// Samples in a row that were held, and those of them that agree with the candidate.
  private var heldCount = 0
  private var agreeingCount = 0

  /// - Parameters:
  ///   - limit: how far the value can have moved since the sample before
  ///   - share: and further by this share of that sample
  mutating func judge(_ value: SIMD3<Double>, limit: Double, share: Double = 0) -> Verdict {
    guard let before = last else {
      last = value
      return .pass
    }
    let limit = limit + share * before.length
    if (value - before).length <= limit {
      take(value)
      return .pass
    }
    heldCount += 1
    agreeingCount = heldCount > 1 && (value - candidate).length <= limit ? agreeingCount + 1 : 1
    candidate = value
    guard agreeingCount >= SpikeGate.quorum || heldCount >= SpikeGate.patience else { return .hold }
    take(value)
    return .step
  }

  private mutating func take(_ value: SIMD3<Double>) {
    last = value
    heldCount = 0
    agreeingCount = 0
  }
}
