/// A satellite navigation system, numbered as in u-blox protocols and gpsd's `gnssid`.
public enum SatelliteSystem: UInt8, Equatable, Sendable {
  case gps = 0
  case sbas = 1
  case galileo = 2
  case beidou = 3
  case imes = 4
  case qzss = 5
  case glonass = 6
  case navic = 7

  /// The system with an ID (1 GPS, 2 GLONASS, …), which NMEA 4.10 and later append to GSA.
  init?(nmeaSystemID: Int) {
    switch nmeaSystemID {
    case 1: self = .gps
    case 2: self = .glonass
    case 3: self = .galileo
    case 4: self = .beidou
    case 5: self = .qzss
    case 6: self = .navic
    default: return nil
    }
  }

  /// The single system of a talker; `nil` for GP (which also numbers SBAS and QZSS), GN and all other talkers.
  init?(talker: Talker) {
    switch talker {
    case .galileo: self = .galileo
    case .beidou, .beidouOld: self = .beidou
    case .navic: self = .navic
    case .glonass: self = .glonass
    case .qzss, .qzssOld: self = .qzss
    default: return nil
    }
  }
}

/// Identifies a satellite by its number in NMEA 2 to 4.0, and by its system and the number inside it.
///
/// Receivers number satellites in three ways that overlap: per system from 1 (a talker or a system ID names the
/// system), in NMEA's extended ranges (33 SBAS, 65 GLONASS, 193 QZSS, 301 Galileo, 401 BeiDou), and in ranges of their
/// own (Quectel's 101 Galileo and 201 BeiDou). This type maps all of them to one number.
public struct SatelliteNumber: Equatable, Hashable, Sendable {
  /// The number, unique over all systems: 1 to 32 GPS, 33 to 64 and 120 to 158 SBAS, 65 and up GLONASS, 173 to 182
  /// IMES, 193 and up QZSS, 301 and up Galileo, 401 and up BeiDou, 501 and up NavIC.
  public var extended: UInt16
  public var system: SatelliteSystem
  /// The number inside the system.
  public var vehicle: UInt8

  /// - Parameters:
  ///   - number: the number in the sentence
  ///   - system: the system, if the talker or an appended system ID names it
  init?(_ number: Int, system: SatelliteSystem?) {
    guard (1...999).contains(number) else { return nil }
    switch system {
    case .glonass: self.init(.glonass, number < 64 ? number : number - 64, base: 64)
    case .galileo: self.init(.galileo, number, lastTwoDigitsAbove: 100, base: 300)
    case .beidou: self.init(.beidou, number, lastTwoDigitsAbove: 100, base: 400)
    case .qzss: self.init(.qzss, number < 100 ? number : number - 192, base: 192)
    case .navic: self.init(.navic, number < 100 ? number : number % 100, base: 500)
    default: self.init(extended: number)
    }
  }

  private init?(_ system: SatelliteSystem, _ vehicle: Int, base: Int) {
    guard (1...255).contains(vehicle) else { return nil }
    self.system = system
    self.vehicle = UInt8(vehicle)
    extended = UInt16(base + vehicle)
  }

  private init?(_ system: SatelliteSystem, _ number: Int, lastTwoDigitsAbove limit: Int, base: Int) {
    self.init(system, number < limit ? number : number % 100, base: base)
  }

  private init?(extended number: Int) {
    switch number {
    case 1...32: self.init(.gps, number, base: 0)
    case 33...64:
      self.init(.sbas, number + 87, base: 0)
      extended = UInt16(number)
    case 65...96: self.init(.glonass, number - 64, base: 64)
    case 120...158: self.init(.sbas, number, base: 0)
    case 173...182: self.init(.imes, number - 172, base: 172)
    case 193...202: self.init(.qzss, number - 192, base: 192)
    case 203...264: self.init(.beidou, number - 200, base: 400)
    case 301...399: self.init(.galileo, number - 300, base: 300)
    case 401...499: self.init(.beidou, number - 400, base: 400)
    case 501...518: self.init(.navic, number - 500, base: 500)
    case 901...918: self.init(.navic, number - 900, base: 500)
    default: return nil
    }
  }
}

/// The numbers of satellites in sentences of NMEA 4.10 and later: the ID of the system, and the number inside it.
extension SatelliteNumber {
  /// The system ID in GSA. SBAS and IMES have the ID of GPS.
  public var nmeaSystemID: Int {
    switch system {
    case .gps, .sbas, .imes: 1
    case .glonass: 2
    case .galileo: 3
    case .beidou: 4
    case .qzss: 5
    case .navic: 6
    }
  }

  /// The number in GSA and GSV: GPS 1 to 32, SBAS 33 to 64, GLONASS from 65, IMES from 173, and the other systems from
  /// 1.
  public var nmeaNumber: Int {
    switch system {
    case .gps, .galileo, .beidou, .qzss, .navic: Int(vehicle)
    case .glonass: Int(vehicle) + 64
    // PRNs above 151 do not fit into the range 33 to 64, and stay unchanged.
    case .sbas: (120...151).contains(vehicle) ? Int(vehicle) - 87 : Int(vehicle)
    case .imes: Int(vehicle) + 172
    }
  }
}

extension Talker {
  /// The talker of sentences about the system with this ID; GP for an unknown ID.
  public init(nmeaSystemID: Int) {
    switch nmeaSystemID {
    case 2: self = .glonass
    case 3: self = .galileo
    case 4: self = .beidou
    case 5: self = .qzss
    case 6: self = .navic
    default: self = .gps
    }
  }
}
