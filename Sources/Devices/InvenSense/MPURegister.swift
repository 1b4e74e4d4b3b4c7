/// Registers of the MPU-6000 family, by the names of the "MPU-6000 and MPU-6050 Register Map and Descriptions",
/// revision 4.2 (RM-MPU-6000A-00), and the "MPU-9250 Register Map", revision 1.6 (RM-MPU-9250A-00).
///
/// Pitfalls:
///
/// - The chip is asleep after power on.
/// - The FIFO has no watermark.
/// - Reading the interrupt status clears it.
/// - Clones identify themselves as 0x72 or 0x98, with the registers of the MPU-6500. An ICM-20689 identifies itself as
///   0x98 as well.
/// - The FIFO of the ICM-20600 and ICM-20602 always has the temperature between the two sensors.
/// - In the ICM-20690, the gyroscope's full scale is one bit lower.
enum MPURegister {
  /// Sample rate divider, 4.2: rate = 1 kHz / (1 + value) while the low-pass filter is on.
  static let sampleRateDivider: UInt8 = 0x19
  /// Configuration, 4.3: low-pass filter of the gyroscope (and of the MPU-6050's accelerometer).
  static let configuration: UInt8 = 0x1A
  /// Gyroscope configuration, 4.4: full scale in bits 4:3.
  static let gyroscopeConfiguration: UInt8 = 0x1B
  /// Accelerometer configuration, 4.5: full scale in bits 4:3.
  static let accelerometerConfiguration: UInt8 = 0x1C
  /// Accelerometer configuration 2, MPU-9250 4.8: the accelerometer's own low-pass filter; not in the MPU-6050. In
  /// chips with an adjustable FIFO, bits 7:6 set its size. The ICM-20689 starts with 512 bytes.
  static let accelerometerConfiguration2: UInt8 = 0x1D
  /// FIFO enable, 4.6.
  static let fifoEnable: UInt8 = 0x23
  /// Interrupt pin configuration, 4.14.
  static let interruptPin: UInt8 = 0x37
  /// Interrupt enable, 4.15.
  static let interruptEnable: UInt8 = 0x38
  /// Interrupt status, 4.16.
  static let interruptStatus: UInt8 = 0x3A
  /// Temperature, high byte first, 4.18.
  static let temperature: UInt8 = 0x41
  /// User control, 4.27.
  static let userControl: UInt8 = 0x6A
  /// Power management 1, 4.28.
  static let powerManagement1: UInt8 = 0x6B
  /// FIFO count, high byte first, 4.30.
  static let fifoCount: UInt8 = 0x72
  /// FIFO read and write, 4.31.
  static let fifo: UInt8 = 0x74
  /// Who am I, 4.32.
  static let whoAmI: UInt8 = 0x75

  // Power management 1
  static let deviceReset: UInt8 = 0x80
  static let sleep: UInt8 = 0x40
  /// Selects the X gyroscope's oscillator, which is steadier than the internal one.
  static let clockFromGyroscope: UInt8 = 0x01

  // Accelerometer configuration 2
  static let greatestFIFO: UInt8 = 0xC0

  // User control
  static let fifoOn: UInt8 = 0x40
  static let fifoReset: UInt8 = 0x04

  // FIFO enable: the three gyroscope axes and the accelerometer, which comes first in the FIFO.
  static let gyroscopeAndAccelerometer: UInt8 = 0x78

  // Interrupts
  static let fifoOverflow: UInt8 = 0x10
  static let dataReady: UInt8 = 0x01
  /// The interrupt line falls on any read.
  static let clearOnAnyRead: UInt8 = 0x10
  /// Connects the chip's own bus to the host's.
  static let bypass: UInt8 = 0x02
}
