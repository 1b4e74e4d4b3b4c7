/// Keeps isolated wrong samples of a polled sensor away from the filters, but lets real steps through.
///
/// A sample far from the previous one is held back. The step is real once three consecutive samples agree; a spike of
/// one or two samples has passed by then.
struct SpikeGate: Sendable {
  enum Verdict: Equatable, Sendable {
    case pass
    /// The sample must not be used: it is a spike or the beginning of a step.
    case hold
    /// The sample must be used: the value has made a larger step than motion allows.
    case step
  }

  /// The number of consecutive, consistent samples that prove a step.
  private static let quorum = 3
  /// After this number of consecutive held samples, the latest is accepted even if they are inconsistent.
  private static let patience = 6

  private var last: SIMD3<Double>?
  private var candidate = SIMD3<Double>.zero
  /// The number of consecutive samples held back.
  private var heldCount = 0
  /// The number of consecutive held samples that agree, up to the candidate.
  private var agreeingCount = 0

  /// Judges the next sample.
  ///
  /// - Parameters:
  ///   - limit: the largest possible change since the previous sample
  ///   - share: an additional allowance as a share of the previous sample
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
