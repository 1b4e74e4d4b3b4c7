/// A model of the MPU-6000 family. The raw value is the content of the chip's WHO_AM_I register.
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
  /// A clone that is sold as an MPU-6050 and behaves like an MPU-6500.
  case clone72 = 0x72
  /// Another clone, or an ICM-20689, which has the same registers.
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

  /// The size of the FIFO in bytes, as the driver configures it. Some chips allow a larger FIFO, which timely reads do
  /// not need.
  var fifoSize: Int {
    switch self {
    case .mpu6050, .icm20690: 1024
    case .icm20600, .icm20602: 1008
    default: 512
    }
  }

  /// The length of a frame in bytes: accelerometer and gyroscope, three axes of two bytes each. In the FIFO of some
  /// chips, the temperature is between the two.
  var frameLength: Int { gyroscopeOffset + 6 }

  /// The offset of the gyroscope in a frame.
  var gyroscopeOffset: Int { self == .icm20600 || self == .icm20602 ? 8 : 6 }

  /// Whether the accelerometer has its own filter. The MPU-6050 has one filter for both sensors.
  var hasSeparateAccelerometerFilter: Bool { self != .mpu6050 }

  /// Whether the package contains an AK8963.
  var hasMagnetometer: Bool { self == .mpu9250 || self == .mpu9255 }

  /// The bits for the FIFO's size, which share a register with the accelerometer's filter.
  var fifoSizeBits: UInt8 { self == .icm20690 ? MPURegister.greatestFIFO : 0 }

  /// The value for the register of the gyroscope's configuration.
  ///
  /// - Parameter range: the full-scale bits of most chips of the family
  func gyroscopeConfiguration(range: UInt8) -> UInt8 { self == .icm20690 ? range >> 1 : range }

  /// The start-up time of the gyroscope: product specification 6.1 (30 ms, at most 35 ms), and for newer chips the time
  /// in the manufacturer's driver.
  var startTime: Duration {
    switch self {
    case .icm20600, .icm20602: .milliseconds(100)
    case .icm20690: .milliseconds(80)
    default: .milliseconds(35)
    }
  }

  /// The temperature in degrees Celsius from the registers.
  func temperature(raw: Int16) -> Float {
    switch self {
    // The formula is from register map 4.18.
    case .mpu6050: Float(raw) / 340 + 36.53
    // The formula is from the MPU-9250 product specification, 3.4.2.
    case .mpu6500, .mpu9250, .mpu9255, .mpu6515, .mpu6880, .clone72: Float(raw) / 333.87 + 21
    // The formula is from ICM-20602 product specification 3.3: 326.8 units per degree, and 0 means 25 degrees.
    case .icm20600, .icm20602, .icm20608, .icm20608d, .icm20690, .iam20680, .clone98: Float(raw) / 326.8 + 25
    }
  }
}
