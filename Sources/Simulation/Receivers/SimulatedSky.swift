enum SatelliteSystem: UInt8, CaseIterable, Sendable {
  // The raw values are u-blox's numbers.
  case gps = 0
  case sbas = 1
  case galileo = 2
  case beidou = 3
  case qzss = 5
  case glonass = 6

  /// The talker of sentences about this system alone.
  var talker: String {
    switch self {
    case .gps, .sbas, .qzss: "GP"
    case .galileo: "GA"
    case .beidou: "GB"
    case .glonass: "GL"
    }
  }

  /// The system identifier in GSA and GSV since NMEA 4.10.
  var nmeaIdentifier: Int {
    switch self {
    case .gps, .sbas, .qzss: 1
    case .glonass: 2
    case .galileo: 3
    case .beidou: 4
    }
  }
}

/// A satellite above the simulated vehicle. Satellites do not move.
struct SimulatedSatellite: Sendable {
  let system: SatelliteSystem
  /// The number within its system.
  let number: UInt8
  let elevationDegrees: Int
  let azimuthDegrees: Int
  let carrierToNoise: Int

  /// The satellite number in NMEA sentences.
  var nmeaNumber: Int { system == .glonass ? Int(number) + 64 : Int(number) }

  static let all: [SimulatedSatellite] = [
    .init(.gps, 2, 62, 105, 45), .init(.gps, 5, 31, 51, 41), .init(.gps, 12, 48, 301, 43), .init(.gps, 13, 22, 182, 37),
    .init(.gps, 15, 71, 230, 47), .init(.gps, 18, 12, 321, 33), .init(.gps, 24, 38, 263, 42),
    .init(.gps, 29, 17, 89, 35),
    .init(.glonass, 4, 40, 65, 40), .init(.glonass, 13, 55, 200, 42), .init(.glonass, 22, 25, 310, 36),
    .init(.galileo, 3, 50, 140, 44), .init(.galileo, 8, 33, 270, 40), .init(.galileo, 26, 66, 20, 45),
    .init(.beidou, 11, 44, 95, 41), .init(.beidou, 23, 28, 240, 38), .init(.beidou, 36, 59, 330, 43),
  ]

  private init(_ system: SatelliteSystem, _ number: UInt8, _ elevation: Int, _ azimuth: Int, _ carrierToNoise: Int) {
    self.system = system
    self.number = number
    elevationDegrees = elevation
    azimuthDegrees = azimuth
    self.carrierToNoise = carrierToNoise
  }
}
