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
