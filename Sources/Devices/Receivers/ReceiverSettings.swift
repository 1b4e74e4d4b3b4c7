import HardwareIO

/// The wanted settings of a receiver; `nil` leaves a setting unchanged.
public struct ReceiverSettings: Equatable, Sendable {
  public enum Constellation: String, CaseIterable, Sendable {
    case gps
    case galileo
    case glonass
    case beidou
    case qzss
    case sbas
  }

  /// How the receiver may expect to be moved.
  public enum DynamicModel: String, CaseIterable, Sendable {
    case portable
    case stationary
    case pedestrian
    case automotive
    case sea
    /// With accelerations of less than 1 g, 2 g and 4 g.
    case airborne1g
    case airborne2g
    case airborne4g
    case wrist
    case bike
  }

  public enum PowerMode: String, CaseIterable, Sendable {
    case full
    /// As exact with less power, where the sky is good.
    case balanced
    /// Fewer and less exact fixes.
    case saving
  }

  /// In the values that the receiver reports.
  public enum Messages: String, CaseIterable, Sendable {
    case nmea
    case ubx
  }

  public var rateHz: Double?
  public var constellations: [Constellation]?
  public var dynamicModel: DynamicModel?
  public var powerMode: PowerMode?
  public var messages: Messages?
  public var speed: BaudRate?
  /// The receiver is to keep them without supply.
  public var saves = false
  /// The previous settings are restored when the last subscriber has left.
  public var restores = false
  /// It is given corrections, and should report their use.
  public var reportsCorrections = false

  public init() {}

  /// As they are called in board files.
  public enum Key: String, CaseIterable, Sendable {
    case rateHz
    case constellations
    case dynamicModel
    case powerMode
    case messages
    case setSpeed
    case saves
    case restores
  }

  /// Those that say something.
  var keys: [Key] {
    let isSet: [(Key, Bool)] = [
      (.rateHz, rateHz != nil), (.constellations, constellations != nil), (.dynamicModel, dynamicModel != nil),
      (.powerMode, powerMode != nil), (.messages, messages != nil), (.setSpeed, speed != nil), (.saves, saves),
      (.restores, restores),
    ]
    return isSet.filter(\.1).map(\.0)
  }

  /// Between two epochs.
  var milliseconds: UInt16? { rateHz.map { UInt16(clamping: Int((1000 / $0).rounded())) } }
}

/// The kind of rest of a receiver without subscribers.
public enum ReceiverSleep: String, CaseIterable, Sendable {
  /// Its supply is switched off.
  case off
  /// It keeps its clock and its knowledge of the satellites, and loses its settings.
  case backup
  /// It receives nothing and keeps its knowledge.
  case standby
  /// Its receiving part alone is stopped.
  case stop
}
