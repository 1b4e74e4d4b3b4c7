/// Estimates the delay of the magnetometer relative to the gyroscope.
///
/// A magnetometer measures for some milliseconds, often at a lower rate than the gyroscope, and then waits to be read.
/// Its field is therefore that of an earlier orientation. In the earth frame, a field m that is late by τ differs from
/// the earth's field m₀:
///
/// m ≈ m₀ + τ ω × m
///
/// The earth's field is constant, so a change of m over a short time is τ times the change of ω × m. Least squares over
/// these changes gives τ. Hard iron hardly affects the estimate, because its change follows the rotation rate, and not
/// the change of the rate.
struct MagneticDelay: Sendable {
  /// The time between the compared measurements, in seconds.
  private static let spacing = 0.035
  /// The expected size of the delay in seconds. With `noise` it decides how much evidence the estimate needs before it
  /// leaves zero.
  private static let sigma = 0.01
  /// The noise of a measurement in microtesla.
  private static let noise = 1.0
  /// The maximum weight of the evidence: that of a delay known to 0.1 ms. Beyond it, older evidence fades, so the
  /// estimate can follow a changing delay, however long the filter has run.
  private static let mostInformation = noise * noise / (0.0001 * 0.0001)
  /// The largest possible delay, in seconds.
  private static let limit = 0.05

  private let stride: Int
  private var count = 0
  private var previous: (field: SIMD3<Double>, slope: SIMD3<Double>)?
  private var information = noise * noise / (sigma * sigma)
  private var evidence = 0.0

  /// The delay in seconds; zero until there is evidence of one.
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

  /// Updates the estimate with a measurement.
  ///
  /// - Parameters:
  ///   - field: the measured field in the earth frame, without hard iron, and not corrected for the delay
  ///   - slope: ω × `field`, microtesla per second
  ///   - isEarths: whether the field is the earth's, undisturbed
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

  /// Forgets the previous measurement, so that the next one is not compared with it.
  mutating func interrupt() {
    previous = nil
    count = 0
  }
}
