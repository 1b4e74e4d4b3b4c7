/// Registers of the BMI160, by the names and sections of its data sheet (BST-BMI160-DS000, revision 0.8).
///
/// Pitfalls:
///
/// - Both sensors are suspended at first, and a suspended chip accepts only one write per 450 microseconds.
/// - A partly read frame of the FIFO is repeated from its beginning.
/// - A full FIFO drops the oldest frame and reports that in a special frame.
enum BMI160Register {
  /// Chip identification, 2.11.1.
  static let chipID: UInt8 = 0x00
  /// Temperature, low byte first, 2.11.8.
  static let temperature: UInt8 = 0x20
  /// The number of bytes in the FIFO, low byte first, 2.11.9.
  static let fifoLength: UInt8 = 0x22
  /// The FIFO's next byte, 2.11.10.
  static let fifoData: UInt8 = 0x24
  /// Rate and filter of the accelerometer, 2.11.12, and its range, 2.11.13.
  static let accelerometerConfiguration: UInt8 = 0x40
  static let accelerometerRange: UInt8 = 0x41
  /// Rate and filter of the gyroscope, 2.11.14, and its range, 2.11.15.
  static let gyroscopeConfiguration: UInt8 = 0x42
  static let gyroscopeRange: UInt8 = 0x43
  /// The contents of the FIFO, 2.11.19.
  static let fifoConfiguration1: UInt8 = 0x47
  /// Interrupts: the events, 2.11.22; the electrical settings of the pins, 2.11.23; and the pin of each event, 2.11.25.
  static let interruptEnable1: UInt8 = 0x51
  static let interruptOutput: UInt8 = 0x53
  static let interruptMap1: UInt8 = 0x56
  /// Commands, 2.11.38.
  static let command: UInt8 = 0x7E

  static let identity: UInt8 = 0xD1

  // Rate and filter: the filter of normal width, for either sensor
  static let normalFilter: UInt8 = 0x20
  // FIFO configuration 1: both sensors, with headers
  static let framesWithHeaders: UInt8 = 0xD0
  // Interrupts: data ready, on the pin INT1, active high and driven
  static let dataReady: UInt8 = 0x10
  static let interrupt1High: UInt8 = 0x0A
  static let dataReadyOnInterrupt1: UInt8 = 0x80

  // Commands
  static let accelerometerSuspend: UInt8 = 0x10
  static let accelerometerNormal: UInt8 = 0x11
  static let gyroscopeSuspend: UInt8 = 0x14
  static let gyroscopeNormal: UInt8 = 0x15
  static let flushFIFO: UInt8 = 0xB0
  static let softReset: UInt8 = 0xB6

  // Headers of frames, 2.5.1; their two lowest bits hold tags of the interrupt pins
  static let headerMask: UInt8 = 0xFC
  static let bothFrame: UInt8 = 0x8C
  static let gyroscopeFrame: UInt8 = 0x88
  static let accelerometerFrame: UInt8 = 0x84
  static let skipFrame: UInt8 = 0x40
  static let timeFrame: UInt8 = 0x44
  static let configurationFrame: UInt8 = 0x48
}
