/// The register values of an MPU for a configuration.
struct MPUSettings: Equatable, Sendable {
  /// The divider. The sample rate is 1 kHz / (1 + divider).
  let divider: UInt8
  let gyroscopeRange: UInt8
  let accelerometerRange: UInt8
  /// The unit in rad/s; 32768 units are the full scale.
  let radiansPerSecondPerUnit: Float
  /// The unit in m/s².
  let metresPerSecondSquaredPerUnit: Float

  init(_ configuration: InertialConfiguration) {
    divider = UInt8(clamping: Int((1000 / configuration.rateHz).rounded()) - 1)
    switch configuration.gyroscopeRange {
    case .dps250: gyroscopeRange = 0x00
    case .dps500: gyroscopeRange = 0x08
    case .dps1000: gyroscopeRange = 0x10
    case .dps2000: gyroscopeRange = 0x18
    }
    switch configuration.accelerometerRange {
    case .g2: accelerometerRange = 0x00
    case .g4: accelerometerRange = 0x08
    case .g8: accelerometerRange = 0x10
    case .g16: accelerometerRange = 0x18
    }
    radiansPerSecondPerUnit = Float(configuration.gyroscopeRange.rawValue) * .pi / 180 / 32768
    metresPerSecondSquaredPerUnit = Float(configuration.accelerometerRange.rawValue) * 9.80665 / 32768
  }

  /// The chip's rate that is nearest to the requested rate.
  var rateHz: Double { 1000 / (Double(divider) + 1) }

  /// The widest low-pass filter up to half of the rate, to avoid aliasing, or else the narrowest filter (register map
  /// 4.3: 188, 98, 42, 20, 10 and 5 Hz).
  var filter: UInt8 {
    switch rateHz / 2 {
    case 188...: 1
    case 98...: 2
    case 42...: 3
    case 20...: 4
    case 10...: 5
    default: 6
    }
  }
}
