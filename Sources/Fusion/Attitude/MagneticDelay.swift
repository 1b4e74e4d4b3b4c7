/// Learns how late the magnetometer is, compared to the gyroscope.
///
/// A magnetometer measures for some milliseconds, often at a lower rate than the gyroscope, and then waits to be read.
/// Its field is therefore that of an earlier orientation. In the earth frame, a field m that is late by τ differs from
/// the earth's field m₀:
///
///     m ≈ m₀ + τ ω × m
///
/// The earth's field is constant, so a change of m over a short time is τ times the change of ω × m. Least squares over
/// these changes give τ. Hard iron does not disturb this much: its change is in step with the rate of the rotation, and
/// not with the change of the rate.
struct MagneticDelay: Sendable {
  /// The time between the measurements that are compared.
  private static let spacing = 0.035
  /// The expected size of the delay in seconds, and the noise of a measurement in microtesla. Together they decide how
  /// much evidence the estimate needs before it leaves zero.
  private static let sigma = 0.01
  private static let noise = 1.0
  /// The most evidence that counts: as much as for a delay known to a tenth of a millisecond. Older evidence fades after
  /// that, so the estimate can follow a delay that changes, however long the filter has run.
  private static let mostInformation = noise * noise / (0.0001 * 0.0001)
  /// A magnetometer is never later than this.
  private static let limit = 0.05

  private let stride: Int
  private var count = 0
  private var previous: (field: SIMD3<Double>, slope: SIMD3<Double>)?
  private var information = noise * noise / (sigma * sigma)
  private var evidence = 0.0

  /// In seconds; zero until there is evidence of a delay.
  private(set) var seconds = 0.0

  init(interval: Double) { stride = max(1, Int((MagneticDelay.spacing / interval).rounded())) }

  /// Counts a measurement. Returns whether `update` needs it.
  @inline(__always)
  mutating func isDue() -> Bool {
    count += 1
    if count < stride { return false }
    count = 0
    return true
  }

  /// - Parameters:
  ///   - field: in the earth frame, without hard iron, and as late as it was measured
  ///   - slope: ω × field, per second
  ///   - isEarths: whether it is the earth's field and not a disturbed one
  mutating func update(field: SIMD3<Double>, slope: SIMD3<Double>, isEarths: Bool) {
    guard isEarths else { return interrupt() }
    if let previous {
      let change = slope - previous.slope
      information += dot(change, change)
      evidence += dot(change, field - previous.field)
      if information > MagneticDelay.mostInformation {
        evidence *= MagneticDelay.mostInformation / information
        information = MagneticDelay.mostInformation
      }
      seconds = max(-MagneticDelay.limit, min(MagneticDelay.limit, evidence / information))
    }
    previous = (field, slope)
  }

  /// Compares the next measurement with none before it.
  mutating func interrupt() {
    previous = nil
    count = 0
  }
}
