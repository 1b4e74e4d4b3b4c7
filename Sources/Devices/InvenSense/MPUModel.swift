/// A member of the family, by what it answers to "who am I".
public enum MPUModel: UInt8, Equatable, Sendable {
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

/// How the chip is to measure.
public struct MPUConfiguration: Equatable, Sendable {
  public enum GyroscopeRange: Int, CaseIterable, Sendable {
    case dps250 = 250
    case dps500 = 500
    case dps1000 = 1000
    case dps2000 = 2000

    var bits: UInt8 {
      switch self {
      case .dps250: 0x00
      case .dps500: 0x08
      case .dps1000: 0x10
      case .dps2000: 0x18
      }
    }

    /// rad/s for one unit; 32768 of them are the full scale.
    var radiansPerSecondPerUnit: Float { Float(rawValue) * .pi / 180 / 32768 }
  }

  public enum AccelerometerRange: Int, CaseIterable, Sendable {
    case g2 = 2
    case g4 = 4
    case g8 = 8
    case g16 = 16

    var bits: UInt8 {
      switch self {
      case .g2: 0x00
      case .g4: 0x08
      case .g8: 0x10
      case .g16: 0x18
      }
    }

    /// m/s² for one unit.
    var metresPerSecondSquaredPerUnit: Float { Float(rawValue) * 9.80665 / 32768 }
  }

  /// 4 to 1000 Hz; the chip divides 1 kHz by a whole number.
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

  var divider: UInt8 { UInt8(clamping: Int((1000 / rateHz).rounded()) - 1) }

  /// What the divider makes of the wish.
  public var actualRateHz: Double { 1000 / (Double(divider) + 1) }

  /// The low-pass filter just below half the rate, so that nothing folds back (register map 4.3: 188, 98, 42, 20, 10
  /// and 5 Hz).
  var filter: UInt8 {
    switch actualRateHz / 2 {
    case 188...: 1
    case 98...: 2
    case 42...: 3
    case 20...: 4
    case 10...: 5
    default: 6
    }
  }
}
