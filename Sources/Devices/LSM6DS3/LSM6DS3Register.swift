/// Registers of the LSM6DS3TR-C and LSM6DSL, by the names of their data sheets (DS11608, DocID028475), and of the
/// LSM6DS3 (DocID026899), whose registers are the same except for the differences named here.
///
/// Pitfalls:
///
/// - The words of the FIFO have no tags. Only their position in the pattern identifies them.
/// - The first sample after the FIFO is switched on is not valid.
/// - The data-ready line stays high until the output registers are read, unless it is configured to pulse, which the
///   LSM6DS3 cannot do.
/// - The unit of the temperature differs between the chips.
/// - The values of the range bits are not in the order of the ranges.
enum LSM6DS3Register {
  /// FIFO_CTRL3: the samples that go into the FIFO: gyroscope in bits 5:3, accelerometer in bits 2:0.
  static let fifoDecimation: UInt8 = 0x08
  /// FIFO_CTRL5: rate in bits 6:3, mode in bits 2:0.
  static let fifoControl: UInt8 = 0x0A
  /// DRDY_PULSE_CFG_G; the LSM6DS3 has the gyroscope's orientation there.
  static let dataReadyPulse: UInt8 = 0x0B
  /// INT1_CTRL: the events that the pin INT1 signals.
  static let interrupt1: UInt8 = 0x0D
  /// WHO_AM_I.
  static let whoAmI: UInt8 = 0x0F
  /// CTRL1_XL: rate in bits 7:4, full scale in bits 3:2.
  static let accelerometer: UInt8 = 0x10
  /// CTRL2_G: rate in bits 7:4, full scale in bits 3:2.
  static let gyroscope: UInt8 = 0x11
  /// CTRL3_C.
  static let control3: UInt8 = 0x12
  /// OUT_TEMP_L, low byte first.
  static let temperature: UInt8 = 0x20
  /// FIFO_STATUS1 to FIFO_STATUS4: the number of waiting words, the events, and the position of the next word in the
  /// pattern.
  static let fifoStatus: UInt8 = 0x3A
  /// FIFO_DATA_OUT_L; after FIFO_DATA_OUT_H a burst continues with the next word.
  static let fifoData: UInt8 = 0x3E

  static let lsm6ds3: UInt8 = 0x69
  static let lsm6ds3trc: UInt8 = 0x6A

  /// All samples of both sensors. The gyroscope's values come first.
  static let allOfBoth: UInt8 = 0x09
  // FIFO control: mode
  static let fifoOff: UInt8 = 0x00
  static let fifoContinuous: UInt8 = 0x06
  // FIFO status 2, and the number of words in 1 and 2; the LSM6DS3TR-C leaves the top bit 0
  static let overrun: UInt8 = 0x40
  static let countHighBits: UInt8 = 0x0F
  // FIFO status 4
  static let patternHighBits: UInt8 = 0x03
  // Data ready
  static let pulsedDataReady: UInt8 = 0x80
  static let gyroscopeReady: UInt8 = 0x02
  // Control 3
  static let softwareReset: UInt8 = 0x01
  static let blockUpdateAndIncrement: UInt8 = 0x44
}
