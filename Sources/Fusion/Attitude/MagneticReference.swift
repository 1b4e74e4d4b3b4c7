import Glibc

/// Knows what the earth's field looks like here, by its strength and dip, and tells when the field is another: near iron,
/// a motor, a loudspeaker.
struct MagneticReference: Sendable {
  private static let measurementTimeConstant = 0.05
  private static let referenceTimeConstant = 20.0
  /// Relative.
  private static let strengthTolerance = 0.1
  private static let dipTolerance = 10 * Double.pi / 180
  /// A field that stays the same for so long, while the sensor turns, is the new reference.
  private static let acceptanceTime = 20.0
  private static let firstAcceptanceTime = 5.0
  private static let minimumRate = 20 * Double.pi / 180
  /// The field has to be right again for so long.
  private static let recoveryTime = 0.5

  private let coefficients: LowPassFilter.Coefficients
  private let referenceGain: Double
  /// Strength and dip, and nothing.
  private var measured = LowPassFilter()
  /// Strength, in the magnetometer's unit, and dip, radians below the horizon; zero while unknown.
  private var reference = SIMD2<Double>.zero
  private var candidate = SIMD2<Double>.zero
  private var candidateTime = 0.0
  private var undisturbedTime = 0.0
  private(set) var isDisturbed = true

  /// Of the earth's field, where that is known; its dip is learnt with the first field that is as strong.
  private let knownStrength: Double?

  /// Of the reference, along the horizon; `nil` while it is unknown.
  @inline(__always) var horizontalField: Double? { reference.x > 0 ? reference.x * cos(reference.y) : nil }

  init(interval: Double, strength: Double? = nil) {
    knownStrength = strength
    coefficients = LowPassFilter.Coefficients(
      timeConstant: MagneticReference.measurementTimeConstant, interval: interval)
    referenceGain = 1 - exp(-interval / MagneticReference.referenceTimeConstant)
  }

  /// - Parameters:
  ///   - field: in a frame whose third axis points down
  ///   - rate: how fast the sensor turns, rad/s
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
    // At rest every field is constant: only one that stays while the sensor turns is the earth's.
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

  /// Takes a field as the reference at once.
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
