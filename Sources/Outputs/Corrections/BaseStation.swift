import NMEA

/// The position of the base station's antenna, from RTCM 3's messages 1005 and 1006 (RTCM 10403.3, tables 3.5-6 and
/// 3.5-7).
enum BaseStation {
  /// The position in earth-centred axes, metres; `nil` for a message of another type, or one that is too short.
  ///
  /// - Parameters:
  ///   - number: the message type
  ///   - frame: the whole message, with its header of three bytes
  static func place(_ number: UInt16, _ frame: [UInt8]) -> SIMD3<Double>? {
    guard number == 1005 || number == 1006, frame.count >= 3 + 19 else { return nil }
    func coordinate(_ bit: Int) -> Double {
      // The value is a signed number of 38 bits, in tenths of a millimetre.
      var value: Int64 = 0
      for index in bit..<bit + 38 {
        value = value << 1 | Int64(frame[3 + index / 8] >> UInt8(7 - index % 8) & 1)
      }
      if value >= 1 << 37 { value -= 1 << 38 }
      return Double(value) * 1e-4
    }
    return SIMD3(coordinate(34), coordinate(74), coordinate(114))
  }

  /// The distance between base station and receiver, in metres; `nil` if the receiver has no position, or if the base
  /// station's is not between 6,000 and 60,000 km from the Earth's centre.
  static func distance(of place: SIMD3<Double>, from fix: GNSSFix?) -> Double? {
    guard let fix, fix.mode >= .twoDimensional, let position = fix.position, EarthCentredPoint(place) != nil else {
      return nil
    }
    let height = fix.altitudeHAEMetres ?? (fix.altitudeMSLMetres ?? 0) + (fix.geoidSeparationMetres ?? 0)
    let way = place - EarthCentredPoint(position, altitudeHAEMetres: height).metres
    return (way * way).sum().squareRoot()
  }
}
