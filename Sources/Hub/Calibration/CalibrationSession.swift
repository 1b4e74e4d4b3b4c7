import Fusion

/// A calibration in progress. It takes measurements until it has a result.
public struct CalibrationSession: Sendable {
  private enum Calibrator: Sendable {
    case gyro(GyroscopeCalibrator)
    case accel(AccelerometerCalibrator)
    case mag(MagnetometerCalibrator)
    case mount(MountCalibrator)
  }

  public let kind: CalibrationKind
  private var calibrator: Calibrator

  public init(_ kind: CalibrationKind) {
    self.kind = kind
    switch kind {
    case .gyro: calibrator = .gyro(GyroscopeCalibrator())
    case .accel: calibrator = .accel(AccelerometerCalibrator())
    case .mag: calibrator = .mag(MagnetometerCalibrator())
    case .mount: calibrator = .mount(MountCalibrator())
    }
  }

  /// - Parameter magnetometer: the field in the chip's own axes, microtesla
  public mutating func add(magnetometer: SIMD3<Double>) {
    switch calibrator {
    case .mag(var inner):
      inner.add(magnetometer)
      calibrator = .mag(inner)
    case .gyro(var inner):
      // A constant magnetic field shows that the sensor does not turn.
      inner.add(magnetometer: magnetometer)
      calibrator = .gyro(inner)
    case .accel, .mount: break
    }
  }

  /// - Parameters:
  ///   - gyroscope: the rotation rate in the chip's own axes, rad/s
  ///   - accelerometer: the specific force in the chip's own axes, m/s²
  ///   - seconds: the time since the previous sample
  public mutating func add(gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, seconds: Double) {
    switch calibrator {
    case .gyro(var inner):
      inner.add(gyroscope: gyroscope, accelerometer: accelerometer, seconds: seconds)
      calibrator = .gyro(inner)
    case .accel(var inner):
      inner.add(gyroscope: gyroscope, accelerometer: accelerometer, seconds: seconds)
      calibrator = .accel(inner)
    case .mag: break
    case .mount(var inner):
      inner.add(gyroscope: gyroscope, accelerometer: accelerometer, seconds: seconds)
      calibrator = .mount(inner)
    }
  }

  /// - Parameters:
  ///   - speed: the speed over ground, m/s
  ///   - time: when the speed was measured, seconds
  public mutating func add(speed: Double, time: Double) {
    guard case .mount(var inner) = calibrator else { return }
    inner.add(speed: speed, time: time)
    calibrator = .mount(inner)
  }

  /// The progress from 0 to 1.
  public var progress: Double {
    switch calibrator {
    case .gyro(let inner): inner.progress
    case .accel(let inner): inner.progress
    case .mag(let inner): inner.progress
    case .mount(let inner): inner.progress
    }
  }

  /// Why a live calibration cannot continue, for people; `nil` while it can. A calibration from a recording ignores the
  /// problem, and shows the result at the end of the recording.
  public var problem: String? {
    guard case .gyro(let inner) = calibrator, inner.isTooRestless else { return nil }
    return "in \(Int(GyroscopeCalibrator.limitSeconds)) s the sensor was never still for ten seconds"
  }

  /// The next step, for people.
  public var instruction: String {
    switch calibrator {
    case .gyro(let inner) where inner.isMoving:
      return "the sensor moves: put it down where nothing shakes it for ten seconds, with engines and fans off; the "
        + "hub waits for this for \(Int(GyroscopeCalibrator.limitSeconds)) s"
    case .gyro(let inner) where inner.needsProof:
      return "leave the sensor still; without a magnetometer the hub cannot detect a slow turn, "
        + "so this takes two minutes"
    case .gyro: return "leave the sensor still"
    case .accel(let inner) where inner.missing.isEmpty: return "all six positions are measured"
    case .accel(let inner):
      let names = inner.missing.map { "\($0)".prefix(1) + ($0.rawValue % 2 == 0 ? " up" : " down") }
      return "hold it still for two seconds with an axis straight up or down; missing: "
        + names.joined(separator: ", ")
    case .mag: return "turn the sensor slowly through all directions, away from iron"
    case .mount: return "stand still for a few seconds, then speed up and brake on a straight road"
    }
  }

  /// Adds the result to the calibration of the chip.
  ///
  /// - Parameter time: the time of the calibration, seconds since 1970
  /// - Returns: whether there is a result
  public func store(in chip: inout ChipCalibration, at time: Int64) -> Bool {
    switch calibrator {
    case .gyro(let inner):
      guard let (bias, sigma) = inner.result else { return false }
      chip.values.gyroscopeBias = bias
      chip.entries[.gyro] = .init(at: time, quality: sigma.max())
    case .accel(let inner):
      guard let (offset, scale, residual) = inner.result else { return false }
      chip.values.accelerometerOffset = offset
      chip.values.accelerometerScale = scale
      chip.entries[.accel] = .init(at: time, quality: residual)
    case .mag(let inner):
      guard let (offset, matrix, strength, residual) = inner.result else { return false }
      chip.values.magnetometerOffset = offset
      chip.values.magnetometerMatrix = matrix
      chip.values.magnetometerStrength = strength
      chip.entries[.mag] = .init(at: time, quality: residual)
    case .mount(let inner):
      guard let (rows, quality) = inner.result, let mount = MountMatrix(rows[0], rows[1], rows[2]) else { return false }
      chip.mount = mount
      chip.entries[.mount] = .init(at: time, quality: quality)
    }
    return true
  }
}

/// The kinds of calibration.
public enum CalibrationKind: String, CaseIterable, Equatable, Sendable {
  /// The gyroscope's bias, at rest.
  case gyro
  /// The accelerometer's offsets and scales, in six positions.
  case accel
  /// The magnetometer's error from iron nearby.
  case mag
  /// The sensor's orientation in the vehicle.
  case mount
}

/// Moves a simulated board as a calibration asks people to move a real one.
public protocol CalibrationRehearsal: Sendable {
  /// Begins the movements for a calibration. Does nothing for a real chip.
  func begin(_ kind: CalibrationKind, of chip: DeviceDescription)
  /// Ends the movements. Does nothing unless they have begun.
  func end()
}
