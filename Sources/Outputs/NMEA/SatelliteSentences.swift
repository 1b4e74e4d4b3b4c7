import Devices
import NMEA

/// The satellites of a receiver's epoch as sentences. GSA names the satellites used and the dilution of precision. GSV
/// lists all satellites in view with their directions and signal strengths.
enum SatelliteSentences {
  /// The satellites of one NMEA system ID. A satellite with several signals is included once.
  private struct System {
    var id: Int
    var satellites: [Satellite] = []

    mutating func add(_ satellite: Satellite) {
      guard let index = satellites.firstIndex(where: { $0.number == satellite.number }) else {
        return satellites.append(satellite)
      }
      satellites[index].isUsed = satellites[index].isUsed || satellite.isUsed
      satellites[index].signalStrength = max(satellites[index].signalStrength, satellite.signalStrength)
    }
  }

  private static let numbersInGSA = 12
  private static let satellitesInGSV = 4
  /// The maximum number of satellites of a system in GSV. There are at most nine sentences, because the field for their
  /// count has one digit.
  private static let satellitesInList = 36

  /// The GSA sentences: for each system, one per twelve used satellites. If no satellite is used, there is a single GSA
  /// without satellites.
  ///
  /// - Parameter mode: the mode of the position in the other sentences: 1 no fix, 2 two dimensions, 3 three; 0 counts
  ///   as 1
  static func used(_ epoch: GNSSObservation, mode: Int) -> String {
    var computed: SkyDilution?
    epoch.sky.withSky { computed = SkyDilution($0) }
    let dilutions = [
      epoch.fix.pdop ?? computed?.position, epoch.fix.hdop ?? computed?.horizontal,
      epoch.fix.vdop ?? computed?.vertical,
    ].map(dilution).joined(separator: ",")
    func sentence(_ numbers: ArraySlice<Int>, _ system: Int) -> String {
      let slots = (0..<numbersInGSA).map { index in
        index < numbers.count ? SentenceField.padded(numbers[numbers.startIndex + index], 2) : ""
      }
      return SentenceWriter.make(
        "GNGSA,A,\(max(mode, 1)),\(slots.joined(separator: ",")),\(dilutions),\(system)")
    }
    let systems = systems(of: epoch.sky)
    var text = ""
    for system in systems {
      var numbers = system.satellites.filter(\.isUsed).map(\.number.nmeaNumber)[...]
      while !numbers.isEmpty {
        text += sentence(numbers.prefix(numbersInGSA), system.id)
        numbers = numbers.dropFirst(numbersInGSA)
      }
    }
    return text.isEmpty ? sentence([], systems.first?.id ?? 1) : text
  }

  /// The GSV sentences of each system. They cover all signals, so they have no signal ID.
  static func inView(_ sky: [Satellite]) -> String {
    systems(of: sky).map { system in
      let satellites = system.satellites.prefix(satellitesInList)
      let count = (satellites.count + satellitesInGSV - 1) / satellitesInGSV
      return (0..<count).map { index in
        let some = satellites.dropFirst(index * satellitesInGSV).prefix(satellitesInGSV)
        let talker = Talker(nmeaSystemID: system.id)
        let total = SentenceField.padded(satellites.count, 2)
        return SentenceWriter.make("\(talker)GSV,\(count),\(index + 1),\(total)" + some.map(group).joined())
      }.joined()
    }.joined()
  }

  private static func group(_ satellite: Satellite) -> String {
    let number = SentenceField.padded(satellite.number.nmeaNumber, 2)
    let elevation = satellite.hasDirection ? SentenceField.padded(Int(satellite.elevationDegrees), 2) : ""
    let azimuth = satellite.hasDirection ? SentenceField.padded(Int(satellite.azimuthDegrees), 3) : ""
    // A satellite that is not tracked has no signal strength.
    let strength = satellite.signalStrength > 0 ? SentenceField.padded(min(Int(satellite.signalStrength), 99), 2) : ""
    return ",\(number),\(elevation),\(azimuth),\(strength)"
  }

  private static func dilution(_ value: Double?) -> String {
    value.flatMap { $0 > 0 && $0 < 99 ? SentenceField.fixed($0, 1) : nil } ?? ""
  }

  private static func systems(of sky: [Satellite]) -> [System] {
    var systems: [System] = []
    for satellite in sky {
      let id = satellite.number.nmeaSystemID
      if let index = systems.firstIndex(where: { $0.id == id }) {
        systems[index].add(satellite)
      } else {
        var system = System(id: id)
        system.add(satellite)
        systems.append(system)
      }
    }
    return systems.sorted { $0.id < $1.id }
  }
}
