public typealias InertialChip = Chip<any InertialDriver, InertialConfiguration>

extension InertialChip {
  /// All inertial sensors, the commonest first.
  public static var all: [InertialChip] {
    [
      .mpu6050, .mpu6500, .mpu9250, .mpu9255, .icm20948, .bno085, .bno055, .lsm6dsox, .ism330dhcx, .lsm6ds3trc,
      .lsm6ds3, .icm42688, .icm42605,
      .lsm9ds1, .bmi160, .bmi088, .mpu6515,
      .icm20600, .icm20602, .icm20608, .icm20689, .icm20690, .iam20680,
    ]
  }
}

/// The rate and the ranges of an inertial sensor.
public struct InertialConfiguration: Equatable, Sendable {
  /// Full scale in degrees per second.
  public enum GyroscopeRange: Int, CaseIterable, Sendable {
    case dps250 = 250
    case dps500 = 500
    case dps1000 = 1000
    case dps2000 = 2000
  }

  /// Full scale in multiples of gravity.
  public enum AccelerometerRange: Int, CaseIterable, Sendable {
    case g2 = 2
    case g4 = 4
    case g8 = 8
    case g16 = 16
  }

  /// The requested samples per second; each chip has its own rates.
  public var rateHz: Double
  public var gyroscopeRange: GyroscopeRange
  public var accelerometerRange: AccelerometerRange

  public init(
    rateHz: Double = 200, gyroscopeRange: GyroscopeRange = .dps500, accelerometerRange: AccelerometerRange = .g4
  ) {
    self.rateHz = rateHz
    self.gyroscopeRange = gyroscopeRange
    self.accelerometerRange = accelerometerRange
  }
}
