/// A rate of the LSM6 family, samples per second.
struct LSM6Rate {
  private static let all: [Double] = [12.5, 26, 52, 104, 208, 416, 833, 1666]

  let hertz: Double
  /// The bits for both sensors and the FIFO.
  let bits: UInt8

  init(nearest requested: Double) {
    let index = LSM6Rate.all.slowestRate(for: requested)
    hertz = LSM6Rate.all[index]
    bits = UInt8(index + 1)
  }
}

extension InertialConfiguration.AccelerometerRange {
  /// The bits of CTRL1_XL, which are not in the order of the ranges.
  var lsm6Bits: UInt8 {
    switch self {
    case .g2: 0x00
    case .g4: 0x08
    case .g8: 0x0C
    case .g16: 0x04
    }
  }
}

extension InertialConfiguration.GyroscopeRange {
  /// The bits of CTRL2_G.
  var lsm6Bits: UInt8 {
    switch self {
    case .dps250: 0x00
    case .dps500: 0x04
    case .dps1000: 0x08
    case .dps2000: 0x0C
    }
  }
}
