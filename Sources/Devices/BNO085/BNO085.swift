import HardwareIO

/// The channels of SHTP and the reports of SH-2 that a BNO085, BNO080 or BNO086 uses. The names are from the BNO08X
/// data sheet (1000-3927, version 1.17), or else from CEVA's host software (sh2).
///
/// Pitfalls:
///
/// - The chip has no registers, and does not support a repeated start.
/// - A BNO085 without output may stretch the clock of a read until it has output (1.2.2.2).
/// - While an interrupt waits for the host, the chip has less time to compute (1.2.4.1), and a BNO080 resets itself.
/// - A Raspberry Pi's controller loses bits after a stretched clock: the first byte of a cargo often arrives without
///   its highest bit.
/// - A raw report is empty unless its sensor is enabled as well. Its values have no unit.
enum BNO085Report {
  // Channels, 1.3.1. Not used: 0 (advertisement), 4 (reports that wake the host), 5 (gyro rotation vector).
  static let executable: UInt8 = 1
  static let control: UInt8 = 2
  static let inputReports: UInt8 = 3

  // Commands to the executable, and its answer, figure 1-27
  static let reset: UInt8 = 1
  static let sleep: UInt8 = 3
  static let resetComplete: UInt8 = 1

  // To the chip, on the control channel, figure 1-30
  /// Product ID Request: the number, and a reserved byte.
  static let productIDRequest: UInt8 = 0xF9
  /// Set Feature Command, figure 1-33: the number, a report's number, flags, two bytes of sensitivity, two intervals in
  /// microseconds and a sensor-specific word.
  static let setFeature: UInt8 = 0xFD
  static let setFeatureLength = 17
  static let intervalOffset = 5
  static let batchIntervalOffset = 9
  /// Force Sensor Flush (sh2): its own number, and the number of the report whose waiting samples the chip must send.
  static let flush: UInt8 = 0xF0

  // From the chip, on the control channel
  /// Product ID Response, figure 1-29. Several are sent, one for each program in the chip.
  static let productIDResponse: UInt8 = 0xF8
  /// Get Feature Response: like Set Feature, with the values that the chip chose.
  static let getFeatureResponse: UInt8 = 0xFC
  /// Command Response. The chip sends one after each reset without a request.
  static let commandResponse: UInt8 = 0xF1

  // From the chip, among the input reports
  /// Flush Completed (sh2): its own number, and the number of the flushed report.
  static let flushCompleted: UInt8 = 0xEF
  /// Timebase Reference, figure 1-35: the signed time from the base of the following reports' delays to the interrupt,
  /// in units of 100 microseconds.
  static let timebase: UInt8 = 0xFB
  /// Timestamp Rebase (sh2): the amount by which the base of the following reports' delays moves later.
  static let rebase: UInt8 = 0xFA
  /// Accelerometer, m/s² with 8 fractional bits, gravity included.
  static let accelerometer: UInt8 = 0x01
  /// Uncalibrated gyroscope, rad/s with 9 fractional bits, followed by the chip's estimate of its bias.
  static let gyroscope: UInt8 = 0x07

  static let metresPerSecondSquaredPerUnit: Float = 0x1p-8
  static let radiansPerSecondPerUnit: Float = 0x1p-9

  // A sensor's report, 1.3.5.2: its number, its sequence number, its status with the upper bits of its delay, the
  // lower bits of the delay, the axes
  static let sequenceOffset = 1
  static let statusOffset = 2
  static let delayOffset = 3
  static let axesOffset = 4

  /// The length of a report in bytes, as the chip's advertisement packet states it; `nil` if the report is unknown.
  static func length(of report: UInt8) -> Int? {
    switch report {
    case flushCompleted: 2
    case 0xF5: 4  // FRS Write Response
    case timebase, rebase: 5
    // These are the calibrated accelerometer, gyroscope, magnetometer, linear acceleration and gravity.
    case accelerometer, 0x02, 0x03, 0x04, 0x06: 10
    case 0x08: 12  // Game rotation vector
    case 0x05, 0x09: 14  // Rotation vector, with the gyroscope or without
    // These are the uncalibrated gyroscope and magnetometer, and all three raw sensors.
    case gyroscope, 0x0F, 0x14, 0x15, 0x16: 16
    case productIDResponse, commandResponse, 0xF3: 16  // and FRS Read Response
    case getFeatureResponse: setFeatureLength
    default: nil
    }
  }
}

extension InertialChip {
  /// The entry of the BNO085. A BNO080 and a BNO086 look the same on the bus, and the driver reads them in the same
  /// way.
  static var bno085: InertialChip {
    InertialChip(
      name: "bno085", title: "BNO085, BNO080 or BNO086", addresses: [0x4A, 0x4B],
      // Reading alone cannot recognise a chip without output, for example a chip that sleeps or has just been read.
      identity: ChipIdentity(register: 0, toldBy: "the headers of its packets") { (registers) throws(HardwareError) in
        try SHTPLink(registers.bus, address: registers.address).isSpoken()
      },
      provenAgainst: "SparkFun, Adafruit",
      fifoSampleCount: BNO085Driver.fifoSampleCount,
      dataReadyFalls: true,
      // A sample needs a report of each sensor. A burst needs the headers of the packets, and the command to send
      // them.
      readout: BusReadout(bytesPerSample: 26, bytesPerBurst: 60, readsPerBurst: 6),
      // The currents are from figure 6-17: the fusion of both sensors at 200 Hz, and idle.
      milliamperes: 12.8, sleepMilliamperes: 0.13, ratesHz: 50...400,
      actualRate: { BNO085Rate(nearest: $0).hertz },
      makeDriver: { BNO085Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try BNO085Driver.putToSleep(SHTPLink(registers.bus, address: registers.address))
      })
  }
}
