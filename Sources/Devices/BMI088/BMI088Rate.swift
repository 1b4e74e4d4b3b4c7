/// A rate of the gyroscope, and the matching rate of the accelerometer. The accelerometer is not faster than the
/// gyroscope, so that the accelerometer's FIFO does not fill earlier.
struct BMI088Rate {
  private static let all = [
    BMI088Rate(hertz: 100, gyroscopeBits: 0x07, accelerometerHertz: 100, accelerometerBits: 0x08),
    BMI088Rate(hertz: 200, gyroscopeBits: 0x06, accelerometerHertz: 200, accelerometerBits: 0x09),
    BMI088Rate(hertz: 400, gyroscopeBits: 0x03, accelerometerHertz: 400, accelerometerBits: 0x0A),
    BMI088Rate(hertz: 1000, gyroscopeBits: 0x02, accelerometerHertz: 800, accelerometerBits: 0x0B),
    BMI088Rate(hertz: 2000, gyroscopeBits: 0x01, accelerometerHertz: 1600, accelerometerBits: 0x0C),
  ]

  let hertz: Double
  /// The value for GYRO_BANDWIDTH. The filters of the five rates are 32, 64, 47, 116 and 230 Hz wide.
  let gyroscopeBits: UInt8
  let accelerometerHertz: Double
  /// The rate bits of ACC_CONF.
  let accelerometerBits: UInt8
}

extension BMI088Rate {
  init(nearest requested: Double) { self = BMI088Rate.all[BMI088Rate.all.map(\.hertz).slowestRate(for: requested)] }
}
