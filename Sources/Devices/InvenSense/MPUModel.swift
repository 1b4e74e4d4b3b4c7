/// A member of the family, by what it answers to "who am I".
public enum MPUModel: UInt8, CaseIterable, Equatable, Sendable {
  case mpu6050 = 0x68
  case mpu6500 = 0x70
  case mpu9250 = 0x71
  case mpu9255 = 0x73
  /// Sold as MPU-6050, behaves as an MPU-6500.
  case clone72 = 0x72
  case clone98 = 0x98

  public var isClone: Bool { self == .clone72 || self == .clone98 }

  public var name: String {
    switch self {
    case .mpu6050: "MPU-6050"
    case .mpu6500: "MPU-6500"
    case .mpu9250: "MPU-9250"
    case .mpu9255: "MPU-9255"
    case .clone72, .clone98: "clone (ID 0x\(String(rawValue, radix: 16))) of an MPU-6500"
    }
  }

  /// Bytes.
  var fifoSize: Int { self == .mpu6050 ? 1024 : 512 }

  /// The MPU-6050 filters its accelerometer together with the gyroscope.
  var hasSeparateAccelerometerFilter: Bool { self != .mpu6050 }

  /// Degrees Celsius from the temperature registers.
  func temperature(raw: Int16) -> Float {
    // Register map 4.18; MPU-9250 product specification 3.4.2.
    self == .mpu6050 ? Float(raw) / 340 + 36.53 : Float(raw) / 333.87 + 21
  }
}
