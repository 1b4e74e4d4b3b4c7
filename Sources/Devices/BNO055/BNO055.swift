import HardwareIO

/// Registers of the BNO055, by the names of its data sheet (BST-BNO055-DS000, revision 1.4).
///
/// Pitfalls:
///
/// - A controller in front of the three sensors stretches the clock of the bus longer than some adapters can tolerate.
/// - After power on and after a reset, the chip does not answer for up to 0.65 s.
/// - Most registers can be written only in the configuration mode. The chip takes 19 ms to enter this mode, and returns
///   to it from suspension.
/// - Nothing marks a new sample.
/// - There is no FIFO.
///
/// Pitfall of the gyroscope's unit outside the fusion modes: by table 3-22, UNIT_SEL selects 16 units per degree per
/// second or 900 units per radian per second. Firmware version 3.11, which chips are delivered with, ignores UNIT_SEL:
/// its unit is the sensor's own, 32768 units for the selected range. Linux's driver uses this unit in the mode AMG,
/// and users who rotated a chip have confirmed it. In the fusion modes the unit is as documented. Newer firmware
/// reportedly uses the documented unit in all modes.
enum BNO055Register {
  /// PAGE_ID, on both pages.
  static let page: UInt8 = 0x07

  // Page 0
  /// CHIP_ID.
  static let chipID: UInt8 = 0x00
  /// SW_REV_ID_LSB and SW_REV_ID_MSB: the firmware version as binary-coded decimals, minor part first. The bytes 0x11,
  /// 0x03 mean version 3.11.
  static let version: UInt8 = 0x04
  /// ACC_DATA_X_LSB: x, y and z in order, low byte first.
  static let accelerometerData: UInt8 = 0x08
  /// GYR_DATA_X_LSB: x, y and z in order, low byte first.
  static let gyroscopeData: UInt8 = 0x14
  /// TEMP.
  static let temperature: UInt8 = 0x34
  /// UNIT_SEL, table 3-11.
  static let units: UInt8 = 0x3B
  /// OPR_MODE, table 3-5.
  static let mode: UInt8 = 0x3D
  /// PWR_MODE, table 3-1.
  static let power: UInt8 = 0x3E
  /// SYS_TRIGGER.
  static let trigger: UInt8 = 0x3F

  // Page 1
  /// ACC_Config, table 3-8: bandwidth in bits 4:2, range in bits 1:0.
  static let accelerometer: UInt8 = 0x08
  /// GYR_Config_0, table 3-9: bandwidth in bits 5:3, range in bits 2:0.
  static let gyroscope: UInt8 = 0x0A

  static let identity: UInt8 = 0xA0
  /// The latest firmware version whose gyroscope unit depends on the selected range.
  static let lastVersionWithOwnUnits: UInt16 = 0x0311

  static let page0: UInt8 = 0x00
  static let page1: UInt8 = 0x01
  /// The units m/s², degrees per second and degrees Celsius. After a reset UNIT_SEL is 0x80, which differs only in the
  /// convention for the fusion's angles.
  static let metricUnits: UInt8 = 0x00
  static let unitsPerMetrePerSecondSquared: Float = 100
  static let unitsPerDegreePerSecond: Float = 16
  // Operating modes
  static let configuring: UInt8 = 0x00
  static let accelerometerAndGyroscope: UInt8 = 0x05
  // Power modes
  static let normal: UInt8 = 0x00
  static let suspended: UInt8 = 0x02
  // System trigger
  static let reset: UInt8 = 0x20

  // The meaningful bits of registers that are read back
  static let pageBits: UInt8 = 0x01
  static let unitsBits: UInt8 = 0x97
  static let gyroscopeBits: UInt8 = 0x3F
  static let modeBits: UInt8 = 0x0F
  static let powerBits: UInt8 = 0x03
}

/// A rate at which the chip is read, and the matching bandwidths of its sensors. The sensors measure slightly more
/// often than the chip is read, so that each read finds a new sample.
struct BNO055Rate {
  private static let all = [
    // The filter bandwidths of accelerometer and gyroscope are 15.63 and 12 Hz, 31.25 and 23 Hz, and 62.5 and 47 Hz.
    BNO055Rate(hertz: 25, accelerometerHertz: 31.25, accelerometerBits: 0x01, gyroscopeBits: 0x05),
    BNO055Rate(hertz: 50, accelerometerHertz: 62.5, accelerometerBits: 0x02, gyroscopeBits: 0x04),
    BNO055Rate(hertz: 100, accelerometerHertz: 125, accelerometerBits: 0x03, gyroscopeBits: 0x03),
  ]

  let hertz: Double
  /// The rate of the accelerometer, the slower sensor: twice its bandwidth.
  let accelerometerHertz: Double
  /// The bandwidth bits for ACC_Config and GYR_Config_0.
  let accelerometerBits: UInt8
  let gyroscopeBits: UInt8

  var period: Duration { .nanoseconds(Int64(1e9 / hertz)) }
}

extension BNO055Rate {
  init(nearest requested: Double) { self = BNO055Rate.all[BNO055Rate.all.map(\.hertz).slowestRate(for: requested)] }
}

/// One reading of a BNO055, in the chip's units.
struct BNO055Reading: Equatable {
  /// The greatest plausible difference between two successive readings of an axis. It is far above the noise, and
  /// below 128, the top bit of a low byte, so that an error in that bit or a higher one is noticed.
  private static let tolerance: Int32 = 100

  var accelerometer: SIMD3<Int16>
  var gyroscope: SIMD3<Int16>

  /// Whether the reading is invalid. A hung bus returns only zeros or ones, and a chip that does not measure returns
  /// zeros.
  var isEmpty: Bool {
    accelerometer == gyroscope && (gyroscope == .zero || gyroscope == SIMD3(repeating: -1))
  }

  func isClose(to other: BNO055Reading) -> Bool {
    BNO055Reading.areClose(accelerometer, other.accelerometer) && BNO055Reading.areClose(gyroscope, other.gyroscope)
  }

  private static func areClose(_ a: SIMD3<Int16>, _ b: SIMD3<Int16>) -> Bool {
    let difference = SIMD3<Int32>(truncatingIfNeeded: a) &- SIMD3<Int32>(truncatingIfNeeded: b)
    return difference.max() <= tolerance && difference.min() >= -tolerance
  }
}

extension InertialChip {
  static var bno055: InertialChip {
    InertialChip(
      name: "bno055", title: "BNO055", addresses: [0x28, 0x29],
      identity: ChipIdentity(register: BNO055Register.chipID, values: [BNO055Register.identity]),
      provenAgainst: "Linux (bno055)",
      // The chip has no FIFO and must be read for each sample.
      fifoSampleCount: 0, leastFIFOSampleCount: 1,
      readout: BusReadout(bytesPerSample: 0, bytesPerBurst: 12),
      // The currents are from table 0-2: all sensors at 100 Hz, and suspended.
      milliamperes: 12.3, sleepMilliamperes: 0.04, ratesHz: 25...100,
      actualRate: { BNO055Rate(nearest: $0).hertz },
      makeDriver: { BNO055Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in try BNO055Driver.suspend(registers) })
  }
}
