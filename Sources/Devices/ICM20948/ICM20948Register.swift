/// Registers of the ICM-20948, by the names of its data sheet (DS-000189), bank by bank.
///
/// Pitfalls:
///
/// - Only the first bank has an identity register, so a chip left in another bank cannot be recognized.
/// - The data sheet gives the FIFO 512 bytes, but 4096 have been observed.
/// - Each sensor has its own rate. Every frame is complete only if both rates are the same.
/// - The chip starts asleep.
enum ICM20948Register {
  /// REG_BANK_SEL, in every bank.
  static let bank: UInt8 = 0x7F

  // The first bank, number 0
  /// WHO_AM_I.
  static let whoAmI: UInt8 = 0x00
  /// USER_CTRL.
  static let userControl: UInt8 = 0x03
  /// PWR_MGMT_1.
  static let powerManagement1: UInt8 = 0x06
  /// INT_PIN_CFG: the electrical settings of the interrupt pin (0 is an active-high, driven pulse), and the bypass.
  static let interruptPin: UInt8 = 0x0F
  /// INT_ENABLE_1.
  static let interruptEnable1: UInt8 = 0x11
  /// INT_STATUS_2: whether the FIFO overflowed; reading clears it.
  static let overflowStatus: UInt8 = 0x1B
  /// TEMP_OUT_H, high byte first.
  static let temperature: UInt8 = 0x39
  /// FIFO_EN_2: the contents of the FIFO.
  static let fifoEnable2: UInt8 = 0x67
  /// FIFO_RST: reset, which is held and then released.
  static let fifoReset: UInt8 = 0x68
  /// FIFO_MODE: the behaviour of a full FIFO.
  static let fifoMode: UInt8 = 0x69
  /// FIFO_COUNTH and FIFO_COUNTL: the number of bytes.
  static let fifoCount: UInt8 = 0x70
  /// FIFO_R_W: the FIFO's next byte.
  static let fifo: UInt8 = 0x72

  // The third bank, number 2
  /// GYRO_SMPLRT_DIV: rate = 1125 Hz / (1 + value).
  static let gyroscopeDivider: UInt8 = 0x00
  /// GYRO_CONFIG_1: filter in bits 5:3, full scale in bits 2:1, and whether the filter is on.
  static let gyroscope: UInt8 = 0x01
  /// ODR_ALIGN_EN: both sensors start together.
  static let alignment: UInt8 = 0x09
  /// ACCEL_SMPLRT_DIV_1 and _2: like the gyroscope's, in twelve bits.
  static let accelerometerDividerHigh: UInt8 = 0x10
  static let accelerometerDividerLow: UInt8 = 0x11
  /// ACCEL_CONFIG: like the gyroscope's.
  static let accelerometer: UInt8 = 0x14

  static let identity: UInt8 = 0xEA

  // Banks
  static let bank0: UInt8 = 0x00
  static let bank2: UInt8 = 0x20
  /// The banks without an identity register.
  static let otherBanks: [UInt8] = [0x10, 0x20, 0x30]

  // Power management 1
  static let deviceReset: UInt8 = 0x80
  static let sleep: UInt8 = 0x40
  /// Selects the best available clock.
  static let bestClock: UInt8 = 0x01

  // User control
  static let fifoOn: UInt8 = 0x40

  // Interrupts
  static let dataReady: UInt8 = 0x01
  static let overflow: UInt8 = 0x1F
  static let pulses: UInt8 = 0x00
  /// Connects the chip's own bus to the host's.
  static let bypass: UInt8 = 0x02

  // FIFO: the accelerometer, which comes first, and the three axes of the gyroscope
  static let accelerometerAndGyroscope: UInt8 = 0x1E
  /// A full FIFO accepts no more frames, so that the frames stay complete.
  static let stopWhenFull: UInt8 = 0x1F
  static let holdInReset: UInt8 = 0x1F

  static let aligned: UInt8 = 0x01
  /// Configuration of either sensor: the filter is on.
  static let filtered: UInt8 = 0x01
}
