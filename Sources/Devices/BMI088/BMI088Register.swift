/// Registers of the BMI088's gyroscope, by the names of its data sheet (BST-BMI088-DS001, revision 1.3, section 5.5).
///
/// Pitfalls:
///
/// - The package has two chips with separate addresses and clocks.
/// - The gyroscope may not acknowledge its reset.
/// - While the gyroscope is suspended, it accepts only a reset and a wake-up.
/// - The frames of the gyroscope's FIFO have no headers. If the FIFO overflows during a read, the bytes may shift, so
///   set the FIFO to stop when it is full.
/// - Only a write to FIFO_CONFIG_1 clears an overrun.
/// - The accelerometer is suspended at first. While it is suspended, it accepts only one write per millisecond.
/// - The frames of the accelerometer's FIFO have headers. The top bit of the FIFO's length says that the FIFO is empty.
/// - The ranges of the accelerometer are 3, 6, 12 and 24 g.
enum BMI088GyroscopeRegister {
  /// GYRO_CHIP_ID.
  static let chipID: UInt8 = 0x00
  /// FIFO_STATUS: overrun, and the number of waiting frames.
  static let fifoStatus: UInt8 = 0x0E
  /// GYRO_RANGE.
  static let range: UInt8 = 0x0F
  /// GYRO_BANDWIDTH, which also sets the rate.
  static let bandwidth: UInt8 = 0x10
  /// GYRO_LPM1.
  static let power: UInt8 = 0x11
  /// GYRO_SOFTRESET.
  static let softReset: UInt8 = 0x14
  /// GYRO_INT_CTRL: enables interrupts.
  static let interruptControl: UInt8 = 0x15
  /// INT3_INT4_IO_CONF: the electrical settings of the pins.
  static let interruptOutput: UInt8 = 0x16
  /// INT3_INT4_IO_MAP: the pin for each event.
  static let interruptMap: UInt8 = 0x18
  /// FIFO_CONFIG_1: mode in bits 7:6.
  static let fifoConfiguration1: UInt8 = 0x3E
  /// FIFO_DATA: the next byte; x, y and z follow in order, low byte first.
  static let fifoData: UInt8 = 0x3F

  static let identity: UInt8 = 0x0F

  static let reset: UInt8 = 0xB6
  static let suspended: UInt8 = 0x80
  // FIFO status
  static let overrun: UInt8 = 0x80
  static let countBits: UInt8 = 0x7F
  // FIFO configuration 1
  static let fifoOff: UInt8 = 0x00
  static let fifoUntilFull: UInt8 = 0x40
  // Interrupts: data ready, a pulse on the pin INT3, active high and driven. INT4 stays unchanged.
  static let dataReady: UInt8 = 0x80
  static let interrupt3High: UInt8 = 0x0D
  static let dataReadyOnInterrupt3: UInt8 = 0x01
}

/// Registers of the BMI088's accelerometer, by the names of its data sheet, section 5.3.
enum BMI088AccelerometerRegister {
  /// ACC_CHIP_ID.
  static let chipID: UInt8 = 0x00
  /// TEMP_MSB and TEMP_LSB, 5.3.7: eleven bits, high bits first.
  static let temperature: UInt8 = 0x22
  /// FIFO_LENGTH_0 and FIFO_LENGTH_1: the number of bytes, low byte first.
  static let fifoLength: UInt8 = 0x24
  /// FIFO_DATA: the next byte.
  static let fifoData: UInt8 = 0x26
  /// ACC_CONF: filter in bits 7:4, rate in bits 3:0.
  static let configuration: UInt8 = 0x40
  /// ACC_RANGE.
  static let range: UInt8 = 0x41
  /// FIFO_CONFIG_0.
  static let fifoConfiguration0: UInt8 = 0x48
  /// FIFO_CONFIG_1.
  static let fifoConfiguration1: UInt8 = 0x49
  /// ACC_PWR_CONF.
  static let powerConfiguration: UInt8 = 0x7C
  /// ACC_PWR_CTRL.
  static let powerControl: UInt8 = 0x7D
  /// ACC_SOFTRESET, which also accepts the command that empties the FIFO.
  static let command: UInt8 = 0x7E

  static let identity: UInt8 = 0x1E

  // Power configuration and control
  static let active: UInt8 = 0x00
  static let suspended: UInt8 = 0x03
  static let on: UInt8 = 0x04
  static let off: UInt8 = 0x00
  // Configuration: the filter of normal width
  static let normalFilter: UInt8 = 0xA0
  // FIFO configurations: drop the oldest frame when full; store the sensor's samples
  static let fifoStream: UInt8 = 0x02
  static let fifoOn: UInt8 = 0x50
  // Temperature: the upper byte before the first measurement
  static let noTemperature: UInt8 = 0x80
  // FIFO length: the FIFO is empty
  static let fifoIsEmpty: UInt16 = 0x8000
  static let fifoLengthBits: UInt16 = 0x3FFF
  // Commands
  static let softReset: UInt8 = 0xB6
  static let flushFIFO: UInt8 = 0xB0

  // Headers of frames; their two lowest bits hold tags of the interrupt pins
  static let headerMask: UInt8 = 0xFC
  static let sampleFrame: UInt8 = 0x84
  static let skipFrame: UInt8 = 0x40
  static let timeFrame: UInt8 = 0x44
  static let configurationFrame: UInt8 = 0x48
  static let dropFrame: UInt8 = 0x50
}
