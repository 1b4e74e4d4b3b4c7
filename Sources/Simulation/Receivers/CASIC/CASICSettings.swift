/// The settings of a CASIC receiver.
struct CASICSettings: Sendable {
  var speed: Int
  var intervalMilliseconds = 1000
  /// The output interval in epochs by class and identifier. Sentences have class 4E.
  var rates: [UInt16: Int]
  /// The 44 bytes of CFG-NAVX. Byte 13 contains the satellite systems.
  var navigation: [UInt8]
  /// The 16 bytes of CFG-TP.
  var pulse: [UInt8]

  init(speed: Int) {
    self.speed = speed
    rates = [:]
    for output in CASICSettings.outputs { rates[output] = output >> 8 == 0x4E && output & 0xFF < 6 ? 1 : 0 }
    rates[0x4E08] = 1
    var navigation = BinaryMessage()
    navigation.u4(UInt32(0xFFFF_FFFF))
    navigation.u1(0, 3, 3, 32, 4, 0, 0, 5, 0, 3)
    navigation.u2(0)
    for value in [0, 0, 100, 100, 100, 100, 0] { navigation.r4(Double(value)) }
    self.navigation = navigation.payload
    var pulse = BinaryMessage()
    pulse.u4(UInt32(1_000_000))
    pulse.u4(UInt32(100_000))
    pulse.u1(3, 0, 0, 0)
    pulse.r4(0)
    self.pulse = pulse.payload
  }

  /// NAV-DOP, PV, TIMEUTC, GPSINFO, BDSINFO, GLNINFO; GGA, GLL, GSA, GSV, RMC, VTG, GST, ZDA.
  static let outputs: [UInt16] = [
    0x0101, 0x0103, 0x0110, 0x0120, 0x0121, 0x0122, 0x4E00, 0x4E01, 0x4E02, 0x4E03, 0x4E04, 0x4E05, 0x4E07, 0x4E08,
  ]

  static func sentence(_ output: UInt16) -> SolutionSentences.Kind? {
    switch output {
    case 0x4E00: .gga
    case 0x4E01: .gll
    case 0x4E02: .gsa
    case 0x4E03: .gsv
    case 0x4E04: .rmc
    case 0x4E05: .vtg
    case 0x4E07: .gst
    case 0x4E08: .zda
    default: nil
    }
  }

  /// The systems by their bits in byte 13 of CFG-NAVX: 0 GPS, 1 BeiDou, 2 GLONASS.
  private static let order: [SatelliteSystem] = [.gps, .beidou, .glonass]

  var systems: Set<SatelliteSystem> {
    Set(CASICSettings.order.enumerated().filter { navigation[13] >> UInt8($0.offset) & 1 == 1 }.map(\.element))
  }

  /// Copies the settings that a CFG-CFG mask selects: bit 0 the port, 1 the messages, 3 the rate and CFG-NAVX, 4 the
  /// pulse.
  mutating func take(_ mask: UInt16, from other: CASICSettings) {
    if mask & 1 != 0 { speed = other.speed }
    if mask & 2 != 0 { rates = other.rates }
    if mask & 8 != 0 { (intervalMilliseconds, navigation) = (other.intervalMilliseconds, other.navigation) }
    if mask & 16 != 0 { pulse = other.pulse }
  }
}
