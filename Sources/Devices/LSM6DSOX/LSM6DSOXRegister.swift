/// Registers of the LSM6DSOX, by the names and sections of its data sheet (DS12814, revision 4); the LSM6DSO, LSM6DSR
/// and ISM330DHCX have the same registers.
///
/// Pitfalls:
///
/// - A read of several bytes continues from the last FIFO byte to the tag, so that words follow each other.
/// - The data-ready line stays high until the output registers are read, unless it is configured to pulse.
/// - The values of the range bits are not in the order of the ranges.
enum LSM6DSOXRegister {
  /// Batch data rates of both sensors, 9.6: gyroscope in bits 7:4, accelerometer in bits 3:0.
  static let fifoControl3: UInt8 = 0x09
  /// FIFO mode, 9.7.
  static let fifoControl4: UInt8 = 0x0A
  /// Counter of batches, 9.8; its top bit makes the data-ready lines pulse.
  static let counterBatch1: UInt8 = 0x0B
  /// The events that the pin INT1 signals, 9.10.
  static let interrupt1: UInt8 = 0x0D
  /// Who am I, 9.12.
  static let whoAmI: UInt8 = 0x0F
  /// Accelerometer, 9.13: output data rate in bits 7:4, full scale in bits 3:2.
  static let accelerometer: UInt8 = 0x10
  /// Gyroscope, 9.14: output data rate in bits 7:4, full scale in bits 3:2.
  static let gyroscope: UInt8 = 0x11
  /// Control 3, 9.15.
  static let control3: UInt8 = 0x12
  /// Control 6, 9.18.
  static let control6: UInt8 = 0x15
  /// Control 8, 9.20: the accelerometer's filters.
  static let control8: UInt8 = 0x17
  /// Control 9, 9.21.
  static let control9: UInt8 = 0x18
  /// WAKE_UP_SRC: the source of the wake-up. Reading this register clears the register and the interrupt line.
  static let wakeUpSource: UInt8 = 0x1B
  /// Temperature, low byte first, 9.27.
  static let temperature: UInt8 = 0x20
  /// The number of waiting words and the events, 9.46 and 9.47.
  static let fifoStatus1: UInt8 = 0x3A
  /// Tap configuration 0 and 2 (TAP_CFG0, TAP_CFG2), for all interrupts that the chip detects by itself.
  static let tap0: UInt8 = 0x56
  static let tap2: UInt8 = 0x58
  /// WAKE_UP_THS: the threshold in its lowest six bits.
  static let wakeUpThreshold: UInt8 = 0x5B
  /// WAKE_UP_DUR: how many further samples must exceed the threshold, and WAKE_THS_W, the unit of the threshold.
  static let wakeUpDuration: UInt8 = 0x5C
  /// MD1_CFG: the detected interrupts that the pin INT1 signals.
  static let functions1: UInt8 = 0x5E
  /// The tag of the next word, 9.77, followed by six bytes of data.
  static let fifoTag: UInt8 = 0x78

  // FIFO control 4
  static let fifoOff: UInt8 = 0x00
  static let fifoContinuous: UInt8 = 0x06
  // FIFO status 2
  static let overrun: UInt8 = 0x48
  static let countHighBits: UInt8 = 0x03
  // Counter of batches 1
  static let pulsedDataReady: UInt8 = 0x80
  // Interrupt 1
  static let gyroscopeReady: UInt8 = 0x02
  // Control 3
  static let softwareReset: UInt8 = 0x01
  static let blockUpdateAndIncrement: UInt8 = 0x44
  // Control 9: the default, without I3C
  static let withoutI3C: UInt8 = 0xE2

  // Detection of motion
  /// XL_HM_MODE: switches high performance off.
  static let accelerometerLowPower: UInt8 = 0x10
  /// HPCF_XL 5: the cut-off of the high pass is a two-hundredth of the rate, 0.13 Hz. FASTSETTL_MODE_XL: the filter
  /// starts at gravity.
  static let slowHighPass: UInt8 = 0xA8
  /// INT_CLR_ON_READ, SLOPE_FDS and LIR: the line stays until the source is read, and the compared signal is
  /// high-passed.
  static let latchedHighPassed: UInt8 = 0x51
  /// WAKE_THS_W: the unit of the threshold is a 256th of the full scale, 7.8 mg at 2 g.
  static let fineThreshold: UInt8 = 0x10
  /// Two units, 15.6 mg. The noise in low-power mode is 1.8 mg (table 2), about an eighth of the threshold.
  static let wakeUpThreshold15Milligravities: UInt8 = 0x02
  static let at26HzAnd2Gravities: UInt8 = 0x20
  /// INTERRUPTS_ENABLE.
  static let interruptsEnabled: UInt8 = 0x80
  /// INT1_WU.
  static let wakeUp: UInt8 = 0x20
  /// WU_IA.
  static let hasWokenUp: UInt8 = 0x08

  // Tags
  static let gyroscopeTag: UInt8 = 0x01
  static let accelerometerTag: UInt8 = 0x02
}
