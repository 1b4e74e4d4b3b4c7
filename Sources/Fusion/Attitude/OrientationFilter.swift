import Glibc

/// Estimates the orientation of an inertial sensor, with or without a magnetometer, and the gyroscope's bias.
///
/// After Laidig and Seel, "VQF: Highly accurate IMU orientation estimation with bias estimation and magnetic disturbance
/// rejection", Information Fusion 91 (2023). The orientation is a product of three rotations:
///
///     q = heading(δ) · inclination · strapdown                                   (1)
///
/// - strapdown integrates the gyroscope, less its bias: q ← q · exp(ω Δt)         (2)
/// - inclination turns the specific force, low-pass filtered in the frame of (2), where accelerations average out, onto
///   the vertical by the shortest way                                             (3)
/// - δ follows the magnetic heading in the frame of (3): δ ← δ + k (δ_mag - δ)    (4)
///
/// Bias estimation (`GyroscopeBiasEstimator`), rest detection (`RestDetector`) and the rejection of disturbed fields
/// (`MagneticReference`) are the paper's as well. `HardIronEstimator` is an addition: a magnet fixed to the sensor is the
/// method's weakest spot.
///
/// Frames: sensor axes are right-handed; the earth frame is north, east, down, north being the magnetic one.
/// No allocation; the same input gives the same output, bit for bit. What is not finite never gets in.
public struct OrientationFilter: Sendable {
  private static let magnetometerTimeConstant = 11.0
  /// A disturbed field is not listened to for so long; then at half the gain, as it may be the new normal.
  private static let maximumRejectionTime = 60.0
  private static let rejectionFactor = 2.0
  /// With which the heading starts its way to the new one when hard iron has been found.
  private static let hardIronTimeConstant = 3.0
  /// A magnetic field that is older than this tells nothing of a turn, seconds.
  private static let fieldLifetime = 2.5
  /// How far the field can have moved from one sample to the next, apart from how the sensor turned:
  /// microtesla, and a share of the field, as a magnet that is fixed to the sensor turns with it.
  private static let fieldStep = (microtesla: 40.0, share: 0.5)
  private static let gravity = 9.80665
  private static let scaleTolerance = 1.02
  /// Of roll and pitch at rest, and where motions average out.
  private static let levelSigma = 0.02
  /// A pause longer than this, in sample intervals and at least in seconds, breaks the chain of measurements.
  private static let longestPause = (intervals: 20.0, seconds: 1.0)

  private let interval: Double
  /// Between samples with a magnetic field.
  private let magneticInterval: Double
  private let accelerometerCoefficients: LowPassFilter.Coefficients
  private let headingGain: Double

  private var strapdown = Quaternion.identity
  private var inclination = Quaternion.identity
  private var force = LowPassFilter()
  private var rest: RestDetector
  private var turn = TurnDetector()
  /// The magnetic field in the sensor's axes, filtered as the rest detector filters the other two.
  private var meanField = LowPassFilter()
  private let meanFieldCoefficients: LowPassFilter.Coefficients
  private var biasEstimator: GyroscopeBiasEstimator
  private var reference: MagneticReference
  private var hardIron: HardIronEstimator
  /// δ of (4), radians.
  private var heading = 0.0
  /// While above the heading gain: the mean of what was seen so far, instead of a slow approach.
  private var initialGain = 1.0
  private var rejectionTime = maximumRejectionTime
  private var latestRate = SIMD3<Double>.zero
  private var fieldSpikes = SpikeGate()
  /// Since the latest magnetic field.
  private var fieldSeconds = 0.0
  private var hasForce = false
  private let biasLimit: Double

  /// - Parameters:
  ///   - interval: seconds between samples; 125 microseconds to 2 seconds. Samples may come unevenly around it.
  ///   - accelerometerTimeConstant: seconds; longer than accelerations last. What a hand does averages out in three, what
  ///     a vehicle does takes longer, and leaves it to the gyroscope to hold the level.
  ///   - biasLimit: the largest gyroscope bias to be expected, rad/s
  ///   - magneticInterval: seconds between samples that come with a magnetic field; `nil` where each does
  ///   - magneticStrength: of the earth's field, where the magnetometer is calibrated: one that is as strong is believed at once
  public init(
    interval: Double, accelerometerTimeConstant: Double = 3, biasLimit: Double = 3.5 * .pi / 180,
    magneticInterval: Double? = nil, magneticStrength: Double? = nil
  ) {
    let interval = interval.isFinite ? max(1.25e-4, min(2, interval)) : 0.01
    let magneticInterval = max(interval, min(2, magneticInterval ?? interval))
    self.interval = interval
    self.magneticInterval = magneticInterval
    self.biasLimit = biasLimit
    accelerometerCoefficients = LowPassFilter.Coefficients(
      timeConstant: accelerometerTimeConstant, interval: interval)
    headingGain = 1 - exp(-magneticInterval / OrientationFilter.magnetometerTimeConstant)
    rest = RestDetector(interval: interval)
    meanFieldCoefficients = RestDetector.coefficients(interval: magneticInterval)
    biasEstimator = GyroscopeBiasEstimator(limit: biasLimit, interval: interval)
    reference = MagneticReference(interval: magneticInterval, strength: magneticStrength)
    hardIron = HardIronEstimator(interval: magneticInterval)
  }

  /// Sensor to north, east, down. Without a magnetometer the heading is the one of the start, and drifts.
  public var attitude: Quaternion { (Quaternion(about: heading) * inclination * strapdown).normalized }

  /// rad/s, in the sensor's axes.
  public var gyroscopeBias: SIMD3<Double> { biasEstimator.bias }
  /// One standard deviation of each component, rad/s.
  public var gyroscopeBiasSigma: SIMD3<Double> { biasEstimator.covariance.diagonal.squareRoot() }
  public var isAtRest: Bool { rest.isAtRest }
  /// One standard deviation of roll and pitch, radians; π before gravity has been seen.
  ///
  /// Whoever accelerates steadily, in a bend say, takes a slanting force for the vertical, and nothing but its length tells:
  /// it is longer than gravity by one over the cosine of the slant. What an accelerometer's scale may be off says nothing.
  public var inclinationSigma: Double {
    guard hasForce else { return .pi }
    let ratio = force.value.length / (OrientationFilter.gravity * OrientationFilter.scaleTolerance)
    guard !rest.isAtRest, ratio > 1 else { return OrientationFilter.levelSigma }
    return max(OrientationFilter.levelSigma, acos(1 / ratio))
  }
  /// Whether gravity has been seen, so that the inclination means something.
  public var isLevelled: Bool { hasForce }
  /// Whether the magnetometer has told the heading.
  public var hasHeading: Bool { initialGain < 1 }
  /// How old the last magnetic field is, seconds.
  var secondsSinceField: Double { fieldSeconds }
  public var isMagneticallyDisturbed: Bool { reference.isDisturbed }
  /// How strong the earth's field is along the horizon, microtesla; `nil` while that is not known.
  @inline(__always) var horizontalFieldMicrotesla: Double? { reference.horizontalField }
  /// The field of what is fixed to the sensor, where there is evidence of any; microtesla, in the sensor's axes.
  public var hardIronMicrotesla: SIMD3<Double> { hardIron.correction }

  /// Takes one sample.
  ///
  /// - Parameters:
  ///   - gyroscope: rad/s
  ///   - accelerometer: specific force, m/s²
  ///   - magnetometer: microtesla; `nil` where there is none, or none with this sample
  ///   - seconds: since the sample before. After a pause the filters start again from what is known; a sample whose
  ///     time does not advance is left out.
  public mutating func update(
    gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, magnetometer: SIMD3<Double>? = nil, seconds: Double
  ) {
    guard seconds > 0, seconds.isFinite else { return }
    let pause = OrientationFilter.longestPause
    if seconds > max(pause.seconds, pause.intervals * interval) { resume() }
    let seconds = min(seconds, max(pause.seconds, pause.intervals * interval))
    // Far beyond any sensor's range, a number is as good as none.
    if gyroscope.isFinite, dot(gyroscope, gyroscope) < 1e8 {
      if accelerometer.isFinite {
        rest.update(gyroscope: gyroscope, accelerometer: accelerometer, biasLimit: biasLimit, seconds: seconds)
      }
      latestRate = gyroscope - biasEstimator.bias
      strapdown = (strapdown * Quaternion(rotationVector: latestRate * seconds)).normalized
    }
    let square = dot(accelerometer, accelerometer)
    guard square > 1e-6, square < 1e12 else { return }
    let rotation = updateInclination(accelerometer, seconds)
    fieldSeconds += seconds
    guard let magnetometer else { return }
    updateHeading(magnetometer, rotation, min(fieldSeconds, 2 * max(magneticInterval, seconds)))
    fieldSeconds = 0
  }

  /// Another sensor goes on from here: the orientation and what is known of the field stay, its bias is not known yet.
  ///
  /// - Parameter interval: seconds between its samples
  mutating func changeSensor(interval: Double) {
    var next = OrientationFilter(interval: interval, biasLimit: biasLimit, magneticInterval: magneticInterval)
    next.strapdown = (inclination * strapdown).normalized
    if hasForce {
      // What it is pushed by just now is not the vertical: that goes on from the one before.
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

  /// Equation (3), and what its correction says about the bias. Returns the rotation of the sensor to the frame of (3).
  @inline(__always)
  private mutating func updateInclination(_ accelerometer: SIMD3<Double>, _ seconds: Double) -> Matrix3 {
    force.update(strapdown.rotate(accelerometer), accelerometerCoefficients)
    let filtered = inclination.rotate(force.value)
    let length = filtered.length
    guard length > 1e-3 else { return Matrix3(inclination * strapdown) }
    // At rest the specific force points up; this vector should point down.
    let down = filtered / -length
    let w = max(0, (down.z + 1) / 2).squareRoot()
    let correction =
      w > 1e-6
      ? Quaternion(w: w, x: 0.5 * down.y / w, y: -0.5 * down.x / w, z: 0)
      // Upside down: half a turn about any horizontal axis.
      : Quaternion(w: 0, x: 1, y: 0, z: 0)
    inclination = (correction * inclination).normalized
    let rotation = Matrix3(inclination * strapdown)
    // The very first correction levels the sensor and says nothing about its bias.
    if hasForce {
      biasEstimator.update(
        rotation: rotation, tilt: SIMD3(-down.y, down.x, 0) / interval, restRate: restRate(seconds),
        accelerometerCoefficients)
    }
    hasForce = true
    return rotation
  }

  /// The gyroscope's mean while the sensor lies still; `nil` while it moves, or turns slowly and steadily.
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

  /// Equation (4).
  @inline(__always)
  private mutating func updateHeading(_ measured: SIMD3<Double>, _ rotation: Matrix3, _ seconds: Double) {
    let square = dot(measured, measured)
    guard square > 1e-6, square < 1e12 else { return }
    let rotated = rotation * measured
    let step = OrientationFilter.fieldStep
    if fieldSpikes.judge(rotated, limit: step.microtesla, share: step.share) == .hold { return }
    meanField.update(measured, meanFieldCoefficients)
    let rate = latestRate.length
    if let field = hardIron.update(rotated: rotated, rotation: rotation, rate: rate) {
      // Another field from here on: the heading is sought again, more quickly at first.
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
    // At first the mean of all that was seen: 1, 1/2, 1/3, …
    if initialGain > gain, initialGain > headingGain {
      gain = initialGain
      initialGain = initialGain / (initialGain + 1)
    }
    let disagreement = -atan2(field.y, field.x) - heading
    heading += gain * OrientationFilter.wrapped(disagreement)
    heading = OrientationFilter.wrapped(heading)
  }

  /// After a pause: the orientation is held, its inclination and heading are found anew, the bias is kept.
  private mutating func resume() {
    strapdown = (inclination * strapdown).normalized
    inclination = .identity
    force.reset()
    rest = RestDetector(interval: interval)
    turn.interrupt()
    meanField.reset()
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
  /// A rotation about the vertical, radians.
  @inline(__always)
  init(about angle: Double) { self.init(w: cos(angle / 2), x: 0, y: 0, z: sin(angle / 2)) }
}
