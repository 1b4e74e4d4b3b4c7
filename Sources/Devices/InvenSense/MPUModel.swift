import HardwareIO

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
  /// - Parameter range: the full-scale bits as most chips of the family have them
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

extension InertialChip {
  static var mpu6050: InertialChip {
    mpu("mpu-6050", "MPU-6050", [.mpu6050], milliamperes: 4)
  }

  static var mpu6500: InertialChip {
    mpu("mpu-6500", "MPU-6500 or a clone of it", [.mpu6500, .clone72, .clone98], milliamperes: 3.4)
  }

  static var mpu6515: InertialChip { mpu("mpu-6515", "MPU-6515 or MPU-6880", [.mpu6515, .mpu6880], milliamperes: 3.4) }

  static var mpu9250: InertialChip { mpu("mpu-9250", "MPU-9250", [.mpu9250], milliamperes: 3.7) }

  static var mpu9255: InertialChip { mpu("mpu-9255", "MPU-9255", [.mpu9255], milliamperes: 3.7) }

  static var icm20600: InertialChip { mpu("icm-20600", "ICM-20600", [.icm20600], milliamperes: 2.8) }

  static var icm20602: InertialChip { mpu("icm-20602", "ICM-20602", [.icm20602], milliamperes: 2.8) }

  static var icm20608: InertialChip { mpu("icm-20608", "ICM-20608", [.icm20608, .icm20608d], milliamperes: 3) }

  /// The entry of the ICM-20689. Nothing distinguishes it from a clone of the MPU-6500, so a search finds the MPU-6500
  /// first.
  static var icm20689: InertialChip { mpu("icm-20689", "ICM-20689", [.clone98], milliamperes: 3) }

  static var icm20690: InertialChip { mpu("icm-20690", "ICM-20690", [.icm20690], milliamperes: 2.8) }

  static var iam20680: InertialChip { mpu("iam-20680", "IAM-20680", [.iam20680], milliamperes: 3) }

  /// The entry of a chip of the family. The driver recognises the model at the start, whichever model the board file
  /// names.
  private static func mpu(
    _ name: String, _ title: String, _ models: [MPUModel], milliamperes: Double
  ) -> InertialChip {
    InertialChip(
      name: name, title: title, addresses: [0x68, 0x69],
      identity: ChipIdentity(register: MPURegister.whoAmI, values: models.map(\.rawValue)),
      relatives: MPUModel.allCases.map(\.rawValue),
      provenAgainst: "Linux (inv_mpu6050)", fifoSampleCount: models.map(\.fifoSampleCount).min() ?? 0,
      leastFIFOSampleCount: MPUModel.allCases.map(\.fifoSampleCount).min(),
      readout: BusReadout(bytesPerSample: models.map(\.frameLength).max() ?? 0),
      // The currents are from product specification 6.2: both sensors, and asleep.
      milliamperes: milliamperes, sleepMilliamperes: 0.005, ratesHz: 4...1000,
      actualRate: { MPUSettings(InertialConfiguration(rateHz: $0)).rateHz },
      makeDriver: { MPUDriver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(MPURegister.sleep, to: MPURegister.powerManagement1)
      })
  }
}

extension MPUModel {
  fileprivate var fifoSampleCount: Int { fifoSize / frameLength }
}
