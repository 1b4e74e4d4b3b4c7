import Glibc

/// Learns the strength and dip of the local earth field, and detects when the measured field differs, for example
/// near iron, a motor or a loudspeaker.
struct MagneticReference: Sendable {
  private static let measurementTimeConstant = 0.05
  private static let referenceTimeConstant = 20.0
  /// The tolerance relative to the reference strength.
  private static let strengthTolerance = 0.1
  private static let dipTolerance = 10 * Double.pi / 180
  /// How long, in seconds, a field must stay constant while the sensor rotates, before it replaces the reference.
  private static let acceptanceTime = 20.0
  /// How long, in seconds, a field must stay constant before it becomes the first reference.
  private static let firstAcceptanceTime = 5.0
  /// The rotation rate, in rad/s, from which the sensor counts as rotating.
  private static let minimumRate = 20 * Double.pi / 180
  /// How long, in seconds, the field must match again before it counts as undisturbed.
  private static let recoveryTime = 0.5

  private let coefficients: LowPassFilter.Coefficients
  private let referenceGain: Double
  /// The filtered strength and dip; the third component is unused.
  private var measured = LowPassFilter()
  /// The strength in the magnetometer's unit and the dip in radians below the horizon; zero while unknown.
  private var reference = SIMD2<Double>.zero
  private var candidate = SIMD2<Double>.zero
  private var candidateTime = 0.0
  private var undisturbedTime = 0.0
  private(set) var isDisturbed = true

  /// The strength of the earth's field, if known. The dip is learnt from the first field of that strength.
  private let knownStrength: Double?

  /// The horizontal component of the reference in the magnetometer's unit; `nil` while unknown.
  @inline(__always) var horizontalField: Double? { reference.x > 0 ? reference.x * cos(reference.y) : nil }

  init(interval: Double, strength: Double? = nil) {
    knownStrength = strength
    coefficients = LowPassFilter.Coefficients(
      timeConstant: MagneticReference.measurementTimeConstant, interval: interval)
    referenceGain = 1 - exp(-interval / MagneticReference.referenceTimeConstant)
  }

  /// Updates the reference with a measurement.
  ///
  /// - Parameters:
  ///   - field: the field in a frame whose third axis points down
  ///   - strength: the length of `field`
  ///   - rate: the rotation rate of the sensor, rad/s
  ///   - seconds: the time since the previous measurement
  @inline(__always)
  mutating func update(field: SIMD3<Double>, strength: Double, rate: Double, seconds: Double) {
    measured.update(SIMD3(strength, asin(max(-1, min(1, field.z / strength))), 0), coefficients)
    let now = SIMD2(measured.value.x, measured.value.y)
    if let knownStrength, reference.x == 0,
      abs(strength - knownStrength) < MagneticReference.strengthTolerance * knownStrength
    {
      return assume(field: field)
    }
    if MagneticReference.agree(now, reference) {
      undisturbedTime += seconds
      if undisturbedTime >= MagneticReference.recoveryTime {
        isDisturbed = false
        reference += referenceGain * (now - reference)
      }
    } else {
      undisturbedTime = 0
      isDisturbed = true
    }
    guard MagneticReference.agree(now, candidate) else {
      candidateTime = 0
      candidate = now
      return
    }
    candidate += referenceGain * (now - candidate)
    // At rest every field is constant. Only a field that stays constant while the sensor rotates is the earth's.
    if rate >= MagneticReference.minimumRate { candidateTime += seconds }
    let isFirst = reference.x == 0
    if isDisturbed,
      candidateTime >= (isFirst ? MagneticReference.firstAcceptanceTime : MagneticReference.acceptanceTime)
    {
      reference = candidate
      isDisturbed = false
      undisturbedTime = MagneticReference.recoveryTime
    }
  }

  /// Makes a field the reference immediately.
  mutating func assume(field: SIMD3<Double>) {
    let strength = field.length
    guard strength > 0 else { return }
    reference = SIMD2(strength, asin(max(-1, min(1, field.z / strength))))
    candidate = reference
    measured.settle(at: SIMD3(reference.x, reference.y, 0), coefficients)
    undisturbedTime = MagneticReference.recoveryTime
    isDisturbed = false
  }

  @inline(__always)
  private static func agree(_ a: SIMD2<Double>, _ b: SIMD2<Double>) -> Bool {
    abs(a.x - b.x) < strengthTolerance * b.x && abs(a.y - b.y) < dipTolerance
  }
}
