/// Registers of the ICM-42688-P, by the names of its data sheet (DS-000347, user bank 0, chapter 14). The ICM-42605
/// has the same registers.
///
/// Pitfalls:
///
/// - There are banks of registers, and only the first has an identity register.
/// - The gyroscope changes its full scale by itself and pauses for 1 to 2 ms each time, unless INTF_CONFIG1 prevents
///   it.
/// - The value -32768 is not a measurement.
/// - Nothing may be written for 200 microseconds after a sensor is switched on.
/// - The count of the FIFO is 0 when it is read for the first time after a flush.
enum ICM42688Register {
  /// DEVICE_CONFIG: reset.
  static let deviceConfiguration: UInt8 = 0x11
  /// INT_CONFIG: the electrical settings of the interrupt pins.
  static let interruptPins: UInt8 = 0x14
  /// FIFO_CONFIG: the FIFO's mode.
  static let fifoMode: UInt8 = 0x16
  /// TEMP_DATA1: high byte first.
  static let temperature: UInt8 = 0x1D
  /// INT_STATUS: the events; reading clears them. FIFO_COUNTH and FIFO_COUNTL follow with the number of bytes in the
  /// FIFO.
  static let interruptStatus: UInt8 = 0x2D
  /// FIFO_DATA: the FIFO's next byte.
  static let fifoData: UInt8 = 0x30
  /// SIGNAL_PATH_RESET: empties the FIFO.
  static let signalPathReset: UInt8 = 0x4B
  /// INTF_CONFIG0: the byte order, and the unit of the FIFO's count.
  static let interface0: UInt8 = 0x4C
  /// INTF_CONFIG1: the clock, and in bits 7:6 whether the gyroscope changes its full scale by itself.
  static let interface1: UInt8 = 0x4D
  /// PWR_MGMT0: the enabled sensors.
  static let powerManagement: UInt8 = 0x4E
  /// GYRO_CONFIG0: full scale in bits 7:5, rate in bits 3:0.
  static let gyroscope: UInt8 = 0x4F
  /// ACCEL_CONFIG0: full scale in bits 7:5, rate in bits 3:0.
  static let accelerometer: UInt8 = 0x50
  /// GYRO_ACCEL_CONFIG0: the bandwidth of both sensors.
  static let bandwidth: UInt8 = 0x52
  /// FIFO_CONFIG1: the contents of the FIFO.
  static let fifoContents: UInt8 = 0x5F
  /// INT_CONFIG1: the interrupts' pulses.
  static let interruptPulses: UInt8 = 0x64
  /// INT_SOURCE0: the events that the pin INT1 signals.
  static let interrupt1: UInt8 = 0x65
  /// WHO_AM_I.
  static let whoAmI: UInt8 = 0x75
  /// REG_BANK_SEL: in every bank.
  static let bank: UInt8 = 0x76

  static let icm42688: UInt8 = 0x47
  static let icm42605: UInt8 = 0x42

  static let softReset: UInt8 = 0x01
  static let firstBank: UInt8 = 0x00
  /// High bytes first, the FIFO's count in bytes, invalid samples marked as such, and no SPI.
  static let bigEndian: UInt8 = 0x32
  // INTF_CONFIG1
  static let fullScaleMask: UInt8 = 0xC0
  static let fullScaleStays: UInt8 = 0x40
  // PWR_MGMT0: both sensors in low noise mode, and the thermometer; all off
  static let bothLowNoise: UInt8 = 0x0F
  static let allOff: UInt8 = 0x00
  /// A bandwidth of half the rate for both sensors, so that nothing aliases.
  static let halfTheRate: UInt8 = 0x00
  // FIFO_CONFIG: keep the newest packets. FIFO_CONFIG1: both sensors and the temperature
  static let stream: UInt8 = 0x40
  static let bothAndTemperature: UInt8 = 0x07
  static let flushFIFO: UInt8 = 0x02
  static let fifoFull: UInt8 = 0x02
  // Interrupts: pulses on the pin INT1, active high and driven, when data is ready; INT_CONFIG1 must be 0 for that
  static let interrupt1High: UInt8 = 0x03
  static let properPulses: UInt8 = 0x00
  static let dataReady: UInt8 = 0x08

  // Header of a packet: both sensors with 16 bits each, and a time; the lowest bits report changed rates
  static let headerMask: UInt8 = 0xF8
  static let bothPacket: UInt8 = 0x68
  /// The value of an axis that has not measured.
  static let nothing = Int16.min
}
