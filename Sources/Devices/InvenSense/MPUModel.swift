/// A member of the family, by its answer to "who am I".
public enum MPUModel: UInt8, CaseIterable, Equatable, Sendable {
  case mpu6050 = 0x68
  case mpu6500 = 0x70
  case mpu9250 = 0x71
  case mpu9255 = 0x73
  case mpu6515 = 0x74
  case mpu6880 = 0x78
  case icm20600 = 0x11
  case icm20602 = 0x12
  case icm20608 = 0xAF
  case icm20608d = 0xAE
  case icm20690 = 0x20
  case iam20680 = 0xA9
  /// Sold as MPU-6050, behaves as an MPU-6500.
  case clone72 = 0x72
  /// A clone as well, or an ICM-20689, which has the same registers.
  case clone98 = 0x98

  public var isClone: Bool { self == .clone72 || self == .clone98 }

  public var name: String {
    switch self {
    case .mpu6050: "MPU-6050"
    case .mpu6500: "MPU-6500"
    case .mpu9250: "MPU-9250"
    case .mpu9255: "MPU-9255"
    case .mpu6515: "MPU-6515"
    case .mpu6880: "MPU-6880"
    case .icm20600: "ICM-20600"
    case .icm20602: "ICM-20602"
    case .icm20608: "ICM-20608"
    case .icm20608d: "ICM-20608-D"
    case .icm20690: "ICM-20690"
    case .iam20680: "IAM-20680"
    case .clone72: "clone (ID 0x72) of an MPU-6500"
    case .clone98: "ICM-20689 or clone (ID 0x98) of an MPU-6500"
    }
  }

  /// Bytes, as the driver has it configured: some could have more, which none needs that is read in time.
  var fifoSize: Int {
    switch self {
    case .mpu6050, .icm20690: 1024
    case .icm20600, .icm20602: 1008
    default: 512
    }
  }

  /// Accelerometer and gyroscope, three axes of two bytes each; some chips always put the temperature between them.
  var frameLength: Int { gyroscopeOffset + 6 }

  /// Where in a frame the gyroscope begins.
  var gyroscopeOffset: Int { self == .icm20600 || self == .icm20602 ? 8 : 6 }

  /// The MPU-6050 filters its accelerometer together with the gyroscope.
  var hasSeparateAccelerometerFilter: Bool { self != .mpu6050 }

  /// Whether there is an AK8963 in its package.
  var hasMagnetometer: Bool { self == .mpu9250 || self == .mpu9255 }

  /// Beside the accelerometer's filter, in the same register.
  var fifoSizeBits: UInt8 { self == .icm20690 ? MPURegister.greatestFIFO : 0 }

  /// The value of the gyroscope's configuration.
  ///
  /// - Parameter range: as in most of the family
  func gyroscopeConfiguration(range: UInt8) -> UInt8 { self == .icm20690 ? range >> 1 : range }

  /// The start-up time of the gyroscope: product specifications 6.1 (30 ms, at most 35 ms), and the time that the
  /// makers' own driver gives the newer ones.
  var startTime: Duration {
    switch self {
    case .icm20600, .icm20602: .milliseconds(100)
    case .icm20690: .milliseconds(80)
    default: .milliseconds(35)
    }
  }

  /// Degrees Celsius from the temperature registers.
  func temperature(raw: Int16) -> Float {
    switch self {
    // Register map 4.18.
    case .mpu6050: Float(raw) / 340 + 36.53
    // MPU-9250 product specification 3.4.2.
    case .mpu6500, .mpu9250, .mpu9255, .mpu6515, .mpu6880, .clone72: Float(raw) / 333.87 + 21
    // ICM-20602 product specification 3.3: 326.8 to a degree, 0 at 25 degrees.
    case .icm20600, .icm20602, .icm20608, .icm20608d, .icm20690, .iam20680, .clone98: Float(raw) / 326.8 + 25
    }
  }
}
