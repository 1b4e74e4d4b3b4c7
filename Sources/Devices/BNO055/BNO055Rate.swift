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
