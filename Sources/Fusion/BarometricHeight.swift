import Glibc

/// Combines the heights of a barometer and a receiver. A barometer resolves single stairs, but drifts with the weather.
/// A receiver's height is absolute, but has errors of some metres that last for minutes.
///
/// The difference between the two heights is the weather's deviation from the standard atmosphere. It changes slowly
/// and is estimated by a Kalman filter of one state, which accounts for the correlation of the receiver's errors.
struct BarometricHeight: Sendable {
  /// The random walk of the weather, in metres per √s: 3.6 m in an hour.
  private static let wander = 0.06
  /// The correlation time of a receiver's height errors in seconds.
  private static let correlationTime = 100.0
  /// The sigma of the barometer's noise and of draughts, in metres.
  private static let sigma = 0.3
  /// The time constant for smoothing single measurements, in seconds.
  private static let smoothingTime = 0.5
  /// A barometer that has been silent for this many seconds provides no height.
  private static let lifetime = 5.0
  /// Fixes that contradict the estimate are accepted once this number of consecutive fixes agree with each other.
  private static let quorum = 5
  /// The 99.9 % quantile of chi-square with one degree of freedom.
  private static let gate = 10.83
  /// The height may change between two measurements by this many metres, plus `fastestClimb` times the time between
  /// them.
  private static let leastStep = 3.0
  /// The highest plausible climb, in metres per second.
  private static let fastestClimb = 25.0
  /// A lasting step of more than this many metres cannot be motion of the board.
  private static let incredibleStep = 60.0
  /// The largest plausible offset in metres. Weather alone changes the apparent height by at most 500 m. With a larger
  /// offset, the pressure is not that of the local air: the chip is of another type, or the cabin is pressurised.
  private static let largestOffset = 1500.0
  /// The highest plausible height without a receiver, in metres. No settlement is higher.
  private static let highestPlace = 5200.0

  private var spikes = SpikeGate()
  /// Whether the pressure cannot be that of the local air.
  private(set) var isWrong = false
  /// Whether a receiver has provided a height.
  private var hasComparison = false
  /// The smoothed height in the standard atmosphere in metres, and the time of the measurement in seconds.
  private var pressureAltitude: (metres: Double, time: Double)?
  /// The height above the ellipsoid minus the pressure altitude in metres, with its variance and its time in seconds.
  private var offset: (metres: Double, variance: Double, time: Double)?
  /// Consecutive fixes whose offsets are rejected but consistent: the latest offset, and the number of fixes.
  private var dissenting = (metres: 0.0, count: 0)

  /// The height in the standard atmosphere, in metres, for a pressure in pascals.
  static func pressureAltitude(_ pascals: Double) -> Double { 44_330.77 * (1 - pow(pascals / 101_325, 0.190_263)) }

  /// Updates the height with a pressure. Returns whether the height uses it. It does not use a spike, a value that is
  /// not finite, or a measurement that is not newer than the previous one.
  @discardableResult
  mutating func update(pressurePascals: Double, time: Double) -> Bool {
    let metres = BarometricHeight.pressureAltitude(pressurePascals)
    guard metres.isFinite, time > pressureAltitude?.time ?? -.infinity else { return false }
    let elapsed = min(pressureAltitude.map { time - $0.time } ?? 0, BarometricHeight.lifetime)
    let limit = BarometricHeight.leastStep + BarometricHeight.fastestClimb * elapsed
    let verdict = spikes.judge(SIMD3(metres, 0, 0), limit: limit)
    if verdict == .hold { return false }
    if !hasComparison { isWrong = metres > BarometricHeight.highestPlace }
    guard let last = pressureAltitude, verdict == .pass, time - last.time < BarometricHeight.lifetime else {
      if verdict == .step, let last = pressureAltitude {
        // The board cannot climb that fast, so the estimated offset becomes uncertain.
        let step = metres - last.metres
        if abs(step) > BarometricHeight.incredibleStep { offset?.variance += step * step }
      }
      pressureAltitude = (metres, time)
      return true
    }
    let gain = 1 - exp(-(time - last.time) / BarometricHeight.smoothingTime)
    pressureAltitude = (last.metres + gain * (metres - last.metres), time)
    return true
  }

  /// Compares the pressure altitude with a receiver's height.
  ///
  /// - Parameters:
  ///   - altitude: the receiver's height above the ellipsoid, metres
  ///   - sigma: its standard deviation, metres
  ///   - time: the time of the fix, which may be slightly before the latest pressure
  mutating func update(altitude: Double, sigma: Double, time: Double) {
    guard let pressureAltitude, abs(time - pressureAltitude.time) < BarometricHeight.lifetime, altitude.isFinite,
      sigma.isFinite
    else { return }
    let single = sigma * sigma + BarometricHeight.sigma * BarometricHeight.sigma
    let measured = altitude - pressureAltitude.metres
    hasComparison = true
    isWrong = abs(measured) > BarometricHeight.largestOffset + 3 * single.squareRoot()
    if isWrong {
      offset = nil
      return
    }
    guard let last = offset else {
      offset = (measured, single, time)
      return
    }
    let elapsed = max(time - last.time, 0.01)
    let variance = last.variance + BarometricHeight.wander * BarometricHeight.wander * elapsed
    let innovation = measured - last.metres
    guard innovation * innovation < BarometricHeight.gate * (variance + single) else {
      let change = measured - dissenting.metres
      let isAlike = dissenting.count > 0 && change * change < BarometricHeight.gate * single
      dissenting = (measured, isAlike ? dissenting.count + 1 : 1)
      if dissenting.count >= BarometricHeight.quorum {
        offset = (measured, single, time)
        dissenting.count = 0
      }
      return
    }
    dissenting.count = 0
    let repeated = single * (1 + 2 * BarometricHeight.correlationTime / elapsed)
    let gain = variance / (variance + repeated)
    offset = (last.metres + gain * innovation, (1 - gain) * variance, time)
  }

  /// The height above the ellipsoid and its standard deviation in metres; `nil` if the pressure is missing or too old,
  /// or if the offset is missing.
  func altitude(at time: Double) -> (metres: Double, sigma: Double)? {
    guard let pressureAltitude, let offset, time - pressureAltitude.time < BarometricHeight.lifetime else { return nil }
    let elapsed = max(time - offset.time, 0)
    let variance =
      offset.variance + BarometricHeight.wander * BarometricHeight.wander * elapsed
      + BarometricHeight.sigma * BarometricHeight.sigma
    return (pressureAltitude.metres + offset.metres, variance.squareRoot())
  }
}
