import Glibc

/// Joins a barometer, which feels each stair and drifts with the weather, with a receiver, which knows its height and is off by
/// some metres for minutes.
///
/// The difference between the two heights is what the weather makes of the standard atmosphere: it changes slowly, and is found
/// by a Kalman filter of one state that takes the receiver's errors for as lasting as they are.
struct BarometricHeight: Sendable {
  /// The weather's, metres per square root of a second: three and a half in an hour.
  private static let wander = 0.06
  /// For so many seconds a receiver's height errors stay the same.
  private static let correlationTime = 100.0
  /// Of the barometer's own noise and the draughts that it feels, metres.
  private static let sigma = 0.3
  /// Of the noise of single measurements, seconds.
  private static let smoothingTime = 0.5
  /// A barometer that has been silent for so long tells no height, seconds.
  private static let lifetime = 5.0
  /// So many fixes that agree with each other are right, whatever was known before.
  private static let quorum = 5
  /// Chi-square with one degree of freedom: 99.9 % lie inside.
  private static let gate = 10.83
  /// How far the height can have moved between two pressures, metres, and metres for each second.
  private static let leastStep = 3.0
  private static let fastestClimb = 25.0
  /// A step that lasts and is larger is none of the board's, metres.
  private static let incredibleStep = 60.0
  /// The weather makes half a kilometre of the standard atmosphere at most. What is further off is no
  /// pressure of the air here: of another chip that is read as this one, or inside a pressurised cabin.
  private static let largestOffset = 1500.0
  /// Where no receiver tells the height: nobody lives higher, metres.
  private static let highestPlace = 5200.0

  private var spikes = SpikeGate()
  /// The pressure cannot be that of the air here.
  private(set) var isWrong = false
  /// A receiver has told its height.
  private var hasComparison = false
  /// Smoothed, in the standard atmosphere, metres; with when it was measured, seconds.
  private var pressureAltitude: (metres: Double, time: Double)?
  /// What has to be added to that to be above the ellipsoid, metres; with its variance and when it was found.
  private var offset: (metres: Double, variance: Double, time: Double)?
  /// Fixes in a row that are far off, and agree with each other: the latest, and how many.
  private var dissenting = (metres: 0.0, count: 0)

  /// The height in the standard atmosphere, metres, of a pressure in Pa.
  static func pressureAltitude(_ pascals: Double) -> Double { 44_330.77 * (1 - pow(pascals / 101_325, 0.190_263)) }

  /// Returns whether the pressure is a believable one, and no spike.
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
        // Nothing climbs like this: what the weather makes is no longer known.
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

  /// - Parameters:
  ///   - altitude: a receiver's, above the ellipsoid, metres
  ///   - sigma: of that, metres
  ///   - time: when it was valid, which may be a little before the latest pressure
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

  /// Above the ellipsoid, and one standard deviation, metres; `nil` while one of the two is missing.
  func altitude(at time: Double) -> (metres: Double, sigma: Double)? {
    guard let pressureAltitude, let offset, time - pressureAltitude.time < BarometricHeight.lifetime else { return nil }
    let elapsed = max(time - offset.time, 0)
    let variance =
      offset.variance + BarometricHeight.wander * BarometricHeight.wander * elapsed
      + BarometricHeight.sigma * BarometricHeight.sigma
    return (pressureAltitude.metres + offset.metres, variance.squareRoot())
  }
}
