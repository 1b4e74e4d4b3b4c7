import Fusion
import Hub
import MonotonicTime
import NMEA

/// A value of Signal K's model that the hub provides, by its path under the vessel (Signal K specification 1.7, vessels
/// branch).
enum SignalKPath: String, CaseIterable, Sendable {
  case position = "navigation.position"
  case speedOverGround = "navigation.speedOverGround"
  case courseOverGroundTrue = "navigation.courseOverGroundTrue"
  case headingTrue = "navigation.headingTrue"
  case headingMagnetic = "navigation.headingMagnetic"
  case magneticVariation = "navigation.magneticVariation"
  case attitude = "navigation.attitude"
  case rateOfTurn = "navigation.rateOfTurn"
  case datetime = "navigation.datetime"
  case gnssMethodQuality = "navigation.gnss.methodQuality"
  case gnssSatellites = "navigation.gnss.satellites"
  case gnssHorizontalDilution = "navigation.gnss.horizontalDilution"
  case gnssAntennaAltitude = "navigation.gnss.antennaAltitude"
  case gnssGeoidalSeparation = "navigation.gnss.geoidalSeparation"
  case gnssDifferentialAge = "navigation.gnss.differentialAge"
  case pressure = "environment.outside.pressure"
  case temperature = "environment.inside.temperature"
  case humidity = "environment.inside.relativeHumidity"

  /// The parts of the state that a subscription to this path requests. A magnetic heading also needs the variation, for
  /// which the last known position is good enough, so it wakes no receiver.
  var parts: Set<StatePart> {
    switch self {
    case .position, .magneticVariation: [.position]
    case .speedOverGround, .courseOverGroundTrue: [.motion]
    case .headingTrue, .headingMagnetic: [.heading]
    case .attitude: [.attitude]
    case .rateOfTurn: [.attitude, .rates]
    case .datetime: [.time]
    case .gnssMethodQuality, .gnssHorizontalDilution, .gnssDifferentialAge: [.position]
    case .gnssSatellites: [.satellites]
    case .gnssAntennaAltitude, .gnssGeoidalSeparation: [.position]
    case .pressure, .temperature, .humidity: [.pressure]
    }
  }

  /// The unit in the `meta` of this path; `nil` for a value without a unit, or with several fields.
  var units: StaticString? {
    switch self {
    case .speedOverGround: "m/s"
    case .courseOverGroundTrue, .headingTrue, .headingMagnetic, .magneticVariation: "rad"
    case .rateOfTurn: "rad/s"
    case .gnssAntennaAltitude, .gnssGeoidalSeparation: "m"
    case .gnssDifferentialAge: "s"
    case .pressure: "Pa"
    case .temperature: "K"
    case .humidity: "ratio"
    case .position, .attitude, .datetime, .gnssMethodQuality, .gnssSatellites, .gnssHorizontalDilution: nil
    }
  }

  /// The description in the `meta` of this path.
  var words: StaticString {
    switch self {
    case .position: "Position in degrees, with the height above sea level in metres"
    case .speedOverGround: "Speed over ground"
    case .courseOverGroundTrue: "Course over ground from true north"
    case .headingTrue: "Heading from true north"
    case .headingMagnetic: "Heading from magnetic north, without deviation"
    case .magneticVariation: "Magnetic variation by the World Magnetic Model, positive east"
    case .attitude: "Roll, pitch and yaw in radians"
    case .rateOfTurn: "Rate of turn about the vertical, positive to starboard"
    case .datetime: "UTC by the receiver"
    case .gnssMethodQuality: "Kind of the fix"
    case .gnssSatellites: "Number of satellites used"
    case .gnssHorizontalDilution: "Horizontal dilution of precision"
    case .gnssAntennaAltitude: "Height above mean sea level"
    case .gnssGeoidalSeparation: "Height of the geoid above the ellipsoid"
    case .gnssDifferentialAge: "Age of the corrections"
    case .pressure: "Pressure of the air at the sensor"
    case .temperature: "Temperature of the sensor"
    case .humidity: "Relative humidity at the sensor"
    }
  }

  /// Whether a subscription's pattern matches this path; `*` stands for any text.
  func matches(_ pattern: String) -> Bool { SignalKPath.matches(Array(rawValue.utf8)[...], Array(pattern.utf8)[...]) }

  private static func matches(_ path: ArraySlice<UInt8>, _ pattern: ArraySlice<UInt8>) -> Bool {
    // On a mismatch the search goes back only to the last star. Going back to earlier stars too would take exponential
    // time with many stars.
    var (path, pattern) = (path, pattern)
    var retry: (path: ArraySlice<UInt8>, pattern: ArraySlice<UInt8>)?
    while let byte = path.first {
      if pattern.first == UInt8(ascii: "*") {
        pattern = pattern.dropFirst()
        retry = (path, pattern)
      } else if pattern.first == byte {
        (path, pattern) = (path.dropFirst(), pattern.dropFirst())
      } else if let last = retry {
        path = last.path.dropFirst()
        pattern = last.pattern
        retry = (path, pattern)
      } else {
        return false
      }
    }
    return pattern.allSatisfy { $0 == UInt8(ascii: "*") }
  }
}

/// A value with the instant and the devices of its measurement.
struct SignalKValue: Sendable {
  enum Content: Sendable {
    case number(Double, decimals: Int)
    case text(StaticString)
    case time(JSONTime)
    case place(FusedState.Position)
    case angles(roll: Double, pitch: Double, yaw: Double?)
  }

  var content: Content
  var at: MonotonicInstant
  var source: DeviceSet

  fileprivate init<Part>(_ content: Content, of part: Dated<Part>) {
    self.content = content
    at = part.at
    source = part.source
  }

  fileprivate init?<Part>(_ number: Double?, _ decimals: Int, of part: Dated<Part>) {
    guard let number, number.isFinite else { return nil }
    self.init(.number(number, decimals: decimals), of: part)
  }

  /// An angle in radians, from 0 to a full turn.
  fileprivate init?<Part>(bearing degrees: Double?, of part: Dated<Part>) {
    guard let degrees, degrees.isFinite else { return nil }
    self.init(.number(Angle.bearing(degrees, decimals: 3) * .pi / 180, decimals: 5), of: part)
  }
}

extension SignalKPath {
  /// The value in a state; `nil` while it is unknown.
  ///
  /// - Parameter lastKnown: the position for the magnetic variation if the state has none
  func value(of state: FusedState, lastKnown: FusedState.Position? = nil) -> SignalKValue? {
    switch self {
    case .position: return state.position.map { SignalKValue(.place($0.value), of: $0) }
    case .magneticVariation:
      return state.position.flatMap {
        SignalKValue(state.magneticVariationDegrees(at: $0.value) * .pi / 180, 5, of: $0)
      }
    case .gnssAntennaAltitude: return state.position.flatMap { SignalKValue($0.value.altitudeMSLMetres, 2, of: $0) }
    case .gnssGeoidalSeparation:
      return state.position.flatMap { part in
        guard let hae = part.value.altitudeHAEMetres, let msl = part.value.altitudeMSLMetres else { return nil }
        return SignalKValue(hae - msl, 2, of: part)
      }
    case .speedOverGround: return state.motion.flatMap { SignalKValue($0.value.speedMetresPerSecond, 3, of: $0) }
    case .courseOverGroundTrue: return state.motion.flatMap { SignalKValue(bearing: $0.value.trackDegrees, of: $0) }
    case .headingTrue, .headingMagnetic, .attitude, .rateOfTurn: return orientation(of: state, lastKnown)
    case .datetime, .gnssMethodQuality, .gnssSatellites, .gnssHorizontalDilution, .gnssDifferentialAge:
      return state.fix.flatMap { reception($0, of: state) }
    case .pressure: return state.air.flatMap { SignalKValue($0.value.pressurePascals, 1, of: $0) }
    case .temperature: return state.air.flatMap { SignalKValue($0.value.temperatureCelsius + 273.15, 2, of: $0) }
    case .humidity: return state.air.flatMap { SignalKValue($0.value.humidityPercent.map { $0 / 100 }, 4, of: $0) }
    }
  }

  private func orientation(of state: FusedState, _ lastKnown: FusedState.Position?) -> SignalKValue? {
    guard let attitude = state.attitude else { return nil }
    let quaternion = attitude.value.quaternion
    let heading = attitude.value.headingSigmaRadians == nil ? nil : quaternion.yaw * 180 / Double.pi
    switch self {
    case .headingTrue:
      // Before the first position, the declination is unknown.
      return SignalKValue(bearing: attitude.value.north == .magnetic ? nil : heading, of: attitude)
    case .headingMagnetic:
      return SignalKValue(bearing: state.magneticHeading(lastKnown: lastKnown)?.degrees, of: attitude)
    case .rateOfTurn:
      // The rate of turn is the rate about the vertical, even if the board is tilted.
      return state.rates.flatMap { SignalKValue(quaternion.rotate($0.value).z, 5, of: $0) }
    default:
      let yaw = heading == nil ? nil : quaternion.yaw
      return SignalKValue(.angles(roll: quaternion.roll, pitch: quaternion.pitch, yaw: yaw), of: attitude)
    }
  }

  private func reception(_ fix: Dated<FusedState.FixQuality>, of state: FusedState) -> SignalKValue? {
    switch self {
    case .datetime: state.utc(at: fix.at).map { SignalKValue(.time(JSONTime($0)), of: fix) }
    case .gnssSatellites: SignalKValue(fix.value.satellitesUsed.map(Double.init), 0, of: fix)
    case .gnssHorizontalDilution: SignalKValue(fix.value.hdop, 2, of: fix)
    case .gnssDifferentialAge: SignalKValue(fix.value.correctionAgeSeconds, 1, of: fix)
    default: SignalKValue(.text(SignalKPath.method(state)), of: fix)
    }
  }

  /// The method of the fix, in the specification's names for the qualities of GGA.
  private static func method(_ state: FusedState) -> StaticString {
    guard state.position != nil else { return "no GPS" }
    if state.isReckoned { return "Estimated (DR) mode" }
    return switch state.fix?.value.status {
    case 2: "DGNSS fix"
    case 3: "RTK fixed integer"
    case 4: "RTK float"
    case 5, 6: "Estimated (DR) mode"
    case 8: "Simulator mode"
    default: "GNSS Fix"
    }
  }
}
