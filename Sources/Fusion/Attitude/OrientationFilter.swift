import Glibc

/// Estimates the orientation of an inertial sensor, with or without a magnetometer, and the gyroscope bias.
///
/// After Laidig and Seel, "VQF: Highly accurate IMU orientation estimation with bias estimation and magnetic
/// disturbance rejection", Information Fusion 91 (2023). The orientation is a product of three rotations:
///
///     q = heading(δ) · inclination · strapdown                                   (1)
///
/// - strapdown integrates the gyroscope minus its bias: q ← q · exp(ω Δt)         (2)
/// - inclination rotates the specific force onto the vertical by the shortest way. The force is low-pass filtered in
///   the frame of (2), where accelerations average out (3)
/// - δ follows the magnetic heading in the frame of (3): δ ← δ + k (δ_mag - δ)    (4)
///
/// Bias estimation (`GyroscopeBiasEstimator`), rest detection (`RestDetector`) and the rejection of disturbed fields
/// (`MagneticReference`) also follow the paper. `HardIronEstimator` is an addition, because a magnet fixed to the
/// sensor is the weakest point of the method. `MagneticDelay` is another, because a late magnetometer turns the heading
/// during every rotation.
///
/// ```swift
/// var filter = OrientationFilter(interval: 0.01)
/// filter.update(gyroscope: rates, accelerometer: force, magnetometer: field, seconds: 0.01)
/// let yaw = filter.attitude.yaw
/// ```
///
/// Frames: the sensor axes are right-handed. The earth frame is north, east, down, where north is magnetic north. The
/// filter does not allocate, and the same input produces the same output bit for bit. Values that are not finite are
/// ignored.
public struct OrientationFilter: Sendable {
  private static let magnetometerTimeConstant = 11.0
  /// How long a disturbed field is ignored, in seconds. After that it is used with half the gain, because it may be
  /// permanent.
  private static let maximumRejectionTime = 60.0
  private static let rejectionFactor = 2.0
  /// The initial time constant of the heading in seconds, after hard iron has been found.
  private static let hardIronTimeConstant = 3.0
  /// The age in seconds above which a magnetic field is no evidence for or against a turn.
  private static let fieldLifetime = 2.5
  /// The largest change of the field between two samples, after the sensor's rotation is removed: the sum of a constant
  /// in microtesla and a share of the field. The share allows for a magnet that is fixed to the sensor: its field does
  /// not rotate in the sensor's axes.
  private static let fieldStep = (microtesla: 40.0, share: 0.5)
  /// The longest time in seconds over which an accelerometer takes the mean.
  private static let longestMean = 0.01
  private static let gravity = 9.80665
  private static let scaleTolerance = 1.02
  /// The sigma of roll and pitch in radians, at rest and while motion averages out.
  private static let levelSigma = 0.02
  /// The longest pause between two samples that the filters bridge without a restart: this number of sample intervals
  /// or this number of seconds, whichever is longer.
  private static let longestPause = (intervals: 20.0, seconds: 1.0)

  private let interval: Double
  /// The time between samples with a magnetic field, in seconds.
  private let magneticInterval: Double
  private let accelerometerTimeConstant: Double
  private let accelerometerCoefficients: LowPassFilter.Coefficients
  private let headingGain: Double

  private var strapdown = Quaternion.identity
  private var inclination = Quaternion.identity
  private var force = LowPassFilter()
  private var rest: RestDetector
  private var turn = TurnDetector()
  /// The magnetic field in the sensor's axes, filtered like the rest detector's inputs.
  private var meanField = LowPassFilter()
  private let meanFieldCoefficients: LowPassFilter.Coefficients
  private var biasEstimator: GyroscopeBiasEstimator
  private var reference: MagneticReference
  private var hardIron: HardIronEstimator
  private var magneticDelay: MagneticDelay
  /// The angle δ of (4) in radians.
  private var heading = 0.0
  /// While this gain exceeds `headingGain`, the heading is the mean of the measurements up to now instead of a slow
  /// approach.
  private var initialGain = 1.0
  private var rejectionTime = maximumRejectionTime
  private var latestRate = SIMD3<Double>.zero
  private var fieldSpikes = SpikeGate()
  /// The time since the latest magnetic field.
  private var fieldSeconds = 0.0
  private var hasForce = false
  private let biasLimit: Double

  /// - Parameters:
  ///   - interval: the nominal time between samples, 125 µs to 2 s. The actual spacing may vary.
  ///   - accelerometerTimeConstant: in seconds; must exceed the duration of accelerations. Hand motion averages out in
  ///     three seconds. A vehicle's motion takes longer. With a longer constant, the level depends on the gyroscope for
  ///     longer.
  ///   - biasLimit: the largest expected gyroscope bias, rad/s
  ///   - magneticInterval: the time between samples with a magnetic field in seconds; `nil` if every sample has one
  ///   - magneticStrength: the strength of the earth's field in microtesla if the magnetometer is calibrated; a field
  ///     of that strength is accepted immediately
  public init(
    interval: Double, accelerometerTimeConstant: Double = 3, biasLimit: Double = 3.5 * .pi / 180,
    magneticInterval: Double? = nil, magneticStrength: Double? = nil
  ) {
    let interval = interval.isFinite ? max(1.25e-4, min(2, interval)) : 0.01
    let magneticInterval = max(interval, min(2, magneticInterval ?? interval))
    self.interval = interval
    self.magneticInterval = magneticInterval
    self.biasLimit = biasLimit
    self.accelerometerTimeConstant = accelerometerTimeConstant
    accelerometerCoefficients = LowPassFilter.Coefficients(
      timeConstant: accelerometerTimeConstant, interval: interval)
    headingGain = 1 - exp(-magneticInterval / OrientationFilter.magnetometerTimeConstant)
    rest = RestDetector(interval: interval)
    meanFieldCoefficients = RestDetector.coefficients(interval: magneticInterval)
    biasEstimator = GyroscopeBiasEstimator(limit: biasLimit, interval: interval)
    reference = MagneticReference(interval: magneticInterval, strength: magneticStrength)
    hardIron = HardIronEstimator(interval: magneticInterval)
    magneticDelay = MagneticDelay(interval: magneticInterval)
  }

  /// The rotation from sensor axes to north, east, down. Without a magnetometer the initial heading is arbitrary and
  /// drifts.
  public var attitude: Quaternion { (inclination * strapdown).turned(by: heading).normalized }

  /// The gyroscope bias in rad/s, in the sensor's axes.
  public var gyroscopeBias: SIMD3<Double> { biasEstimator.bias }
  /// The standard deviation of each component of the gyroscope bias, in rad/s.
  public var gyroscopeBiasSigma: SIMD3<Double> { biasEstimator.covariance.diagonal.squareRoot() }
  public var isAtRest: Bool { rest.isAtRest }
  /// The standard deviation of roll and pitch in radians; π before the first accelerometer sample.
  ///
  /// During a steady acceleration, for example in a long curve of a road, the filter takes a slanted force as the
  /// vertical. Only the length of the force reveals this, because it exceeds gravity by one over the cosine of the
  /// slant. Deviations within the scale error of an accelerometer are ignored.
  public var inclinationSigma: Double {
    guard hasForce else { return .pi }
    let ratio = force.value.length / (OrientationFilter.gravity * OrientationFilter.scaleTolerance)
    guard !rest.isAtRest, ratio > 1 else { return OrientationFilter.levelSigma }
    return max(OrientationFilter.levelSigma, acos(1 / ratio))
  }
  /// Whether gravity has been measured, so that the inclination is meaningful.
  public var isLevelled: Bool { hasForce }
  /// Whether the magnetometer has provided a heading.
  public var hasHeading: Bool { initialGain < 1 }
  /// The age of the last magnetic field in seconds.
  var secondsSinceField: Double { fieldSeconds }
  public var isMagneticallyDisturbed: Bool { reference.isDisturbed }
  /// The horizontal strength of the earth's field in microtesla; `nil` while unknown.
  @inline(__always) var horizontalFieldMicrotesla: Double? { reference.horizontalField }
  /// The delay of the magnetometer relative to the gyroscope, in seconds; zero until there is evidence of one.
  var magneticDelaySeconds: Double { magneticDelay.seconds }
  /// The hard-iron field in microtesla in the sensor's axes; zero unless there is evidence of one.
  public var hardIronMicrotesla: SIMD3<Double> { hardIron.correction }

  /// Updates the estimate with one sample.
  ///
  /// - Parameters:
  ///   - gyroscope: rad/s
  ///   - accelerometer: specific force, m/s²
  ///   - magnetometer: microtesla; `nil` if this sample has none
  ///   - seconds: the time since the previous sample. After a pause the filters restart from the present estimate. A
  ///     sample whose time does not advance is ignored.
  public mutating func update(
    gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, magnetometer: SIMD3<Double>? = nil, seconds: Double
  ) {
    guard seconds > 0, seconds.isFinite else { return }
    let pause = OrientationFilter.longestPause
    if seconds > max(pause.seconds, pause.intervals * interval) { resume() }
    let seconds = min(seconds, max(pause.seconds, pause.intervals * interval))
    // A value far beyond the range of any sensor is invalid.
    if gyroscope.isFinite, dot(gyroscope, gyroscope) < 1e8 {
      if accelerometer.isFinite {
        rest.update(gyroscope: gyroscope, accelerometer: accelerometer, biasLimit: biasLimit, seconds: seconds)
      }
      latestRate = gyroscope - biasEstimator.bias
      strapdown = (strapdown * Quaternion(rotationVector: latestRate * seconds)).renormalized
    }
    let square = dot(accelerometer, accelerometer)
    guard square > 1e-6, square < 1e12 else { return }
    // Both sensors measure the mean of the interval. The force therefore belongs to the orientation in the middle of
    // the interval, half a step before `strapdown`. A slow sensor measures only the end of its interval.
    let force = accelerometer - min(0.5 * seconds, OrientationFilter.longestMean / 2) * cross(latestRate, accelerometer)
    let rotation = updateInclination(force, seconds)
    fieldSeconds += seconds
    guard let magnetometer else { return }
    updateHeading(magnetometer, rotation, min(fieldSeconds, 2 * max(magneticInterval, seconds)))
    fieldSeconds = 0
  }

  /// Continues with another sensor. The orientation, the magnetic reference and the hard iron stay; the bias of the new
  /// sensor is unknown.
  ///
  /// - Parameter interval: the time between its samples, seconds
  mutating func changeSensor(interval: Double) {
    var next = OrientationFilter(
      interval: interval, accelerometerTimeConstant: accelerometerTimeConstant, biasLimit: biasLimit,
      magneticInterval: magneticInterval)
    next.strapdown = (inclination * strapdown).normalized
    if hasForce {
      // The present acceleration is not the vertical, so the force filter continues with the vertical of the previous
      // sensor.
      next.force.settle(at: SIMD3(0, 0, -OrientationFilter.gravity), next.accelerometerCoefficients)
      next.hasForce = true
    }
    next.heading = heading
    next.initialGain = initialGain
    next.reference = reference
    next.hardIron = hardIron
    next.rejectionTime = rejectionTime
    next.fieldSeconds = fieldSeconds
    self = next
  }

  /// Applies equation (3), and derives the bias from its correction. Returns the rotation from the sensor's axes to
  /// the frame of (3).
  @inline(__always)
  private mutating func updateInclination(_ accelerometer: SIMD3<Double>, _ seconds: Double) -> Matrix3 {
    force.update(strapdown.rotate(accelerometer), accelerometerCoefficients)
    let filtered = inclination.rotate(force.value)
    let length = filtered.length
    guard length > 1e-3 else { return Matrix3(inclination * strapdown) }
    // At rest the specific force points up, so its negative points down.
    let down = filtered / -length
    let w = max(0, (down.z + 1) / 2).squareRoot()
    let correction =
      w > 1e-6
      ? Quaternion(w: w, x: 0.5 * down.y / w, y: -0.5 * down.x / w, z: 0)
      // The sensor is upside down: half a turn about any horizontal axis.
      : Quaternion(w: 0, x: 1, y: 0, z: 0)
    inclination = (correction * inclination).renormalized
    let rotation = Matrix3(inclination * strapdown)
    // The first correction levels the sensor. It contains no information about the bias.
    if hasForce {
      biasEstimator.update(
        rotation: rotation, tilt: SIMD3(-down.y, down.x, 0) / interval, restRate: restRate(seconds),
        accelerometerCoefficients)
    }
    hasForce = true
    return rotation
  }

  /// The mean of the gyroscope while the sensor is at rest; `nil` while it moves, or may be turning slowly and
  /// steadily.
  @inline(__always)
  private mutating func restRate(_ seconds: Double) -> SIMD3<Double>? {
    guard rest.isAtRest else {
      turn.interrupt()
      return nil
    }
    let verdict = turn.update(
      rate: rest.rate, bias: biasEstimator.bias, variance: biasEstimator.covariance.diagonal, force: rest.force,
      field: fieldSeconds < OrientationFilter.fieldLifetime ? meanField.value : nil, seconds: seconds)
    switch verdict {
    case .rest: return rest.rate
    case .turn: return nil
    case .newBias:
      biasEstimator.restart(at: rest.rate)
      return rest.rate
    }
  }

  /// Applies equation (4).
  @inline(__always)
  private mutating func updateHeading(_ measured: SIMD3<Double>, _ rotation: Matrix3, _ seconds: Double) {
    let square = dot(measured, measured)
    guard square > 1e-6, square < 1e12 else { return }
    // The field rotates in the sensor's axes, so a delayed measurement is corrected by its rate of change in these
    // axes.
    let late = measured - hardIron.correction
    let slope = cross(latestRate, late)
    let rotated = rotation * (measured - magneticDelay.seconds * slope)
    let step = OrientationFilter.fieldStep
    if fieldSpikes.judge(rotated, limit: step.microtesla, share: step.share) == .hold { return }
    meanField.update(measured, meanFieldCoefficients)
    if magneticDelay.isDue() {
      magneticDelay.update(
        field: rotation * late, slope: rotation * slope, isEarths: !reference.isDisturbed)
    }
    let rate = latestRate.length
    if let field = hardIron.update(rotated: rotated, rotation: rotation, rate: rate) {
      // The field without the hard iron differs, so the heading is determined again, faster at first.
      reference.assume(field: field)
      initialGain = min(1, magneticInterval / OrientationFilter.hardIronTimeConstant)
    }
    let field = hardIron.isUsed ? rotated - rotation * hardIron.correction : rotated
    let strength = field.length
    guard strength > 1e-3 else { return }
    reference.update(field: field, strength: strength, rate: rate, seconds: seconds)

    var gain = headingGain
    if reference.isDisturbed {
      if rejectionTime <= OrientationFilter.maximumRejectionTime {
        rejectionTime += seconds
        gain = 0
      } else {
        gain /= OrientationFilter.rejectionFactor
      }
    } else {
      rejectionTime = max(rejectionTime - OrientationFilter.rejectionFactor * seconds, 0)
    }
    // The first measurements are averaged, with the weights 1, 1/2, 1/3, …
    if initialGain > gain, initialGain > headingGain {
      gain = initialGain
      initialGain = initialGain / (initialGain + 1)
    }
    guard gain > 0 else { return }
    let disagreement = -atan2(field.y, field.x) - heading
    heading += gain * OrientationFilter.wrapped(disagreement)
    heading = OrientationFilter.wrapped(heading)
  }

  /// Continues after a pause from the last orientation and bias. The next samples of the accelerometer and the
  /// magnetometer correct inclination and heading at once, as they do at the first start.
  private mutating func resume() {
    strapdown = (inclination * strapdown).normalized
    inclination = .identity
    force.reset()
    rest = RestDetector(interval: interval)
    turn.interrupt()
    meanField.reset()
    magneticDelay.interrupt()
    fieldSpikes = SpikeGate()
    biasEstimator.resetMotion()
    initialGain = 1
    hasForce = false
  }

  @inline(__always)
  private static func wrapped(_ angle: Double) -> Double {
    if angle > -.pi, angle <= .pi { return angle }
    return angle - (angle / (2 * .pi)).rounded() * 2 * .pi
  }
}

extension Quaternion {
  /// A rotation about the vertical by an angle in radians.
  @inline(__always)
  init(about angle: Double) { self.init(w: cos(angle / 2), x: 0, y: 0, z: sin(angle / 2)) }

  /// The orientation after a turn about the vertical by an angle in radians.
  @inline(__always)
  func turned(by angle: Double) -> Quaternion {
    let (c, s) = (cos(angle / 2), sin(angle / 2))
    return Quaternion(w: c * w - s * z, x: c * x - s * y, y: c * y + s * x, z: c * z + s * w)
  }
}
