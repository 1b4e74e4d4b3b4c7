import HardwareIO

/// The requested settings of a receiver; `nil` leaves a setting unchanged.
public struct ReceiverSettings: Equatable, Sendable {
  public enum Constellation: String, CaseIterable, Sendable {
    case gps
    case galileo
    case glonass
    case beidou
    case qzss
    case sbas
  }

  /// The expected motion of the receiver.
  public enum DynamicModel: String, CaseIterable, Sendable {
    case portable
    case stationary
    case pedestrian
    case automotive
    case sea
    /// Airborne, with accelerations below 1 g, 2 g and 4 g.
    case airborne1g
    case airborne2g
    case airborne4g
    case wrist
    case bike
  }

  public enum PowerMode: String, CaseIterable, Sendable {
    case full
    /// Under a good sky, as accurate as full power, with less energy.
    case balanced
    /// Fewer and less accurate fixes.
    case saving
  }

  /// The kind of messages that the receiver reports in.
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
  /// Whether the receiver stores the settings, so that it keeps them while its supply is off.
  public var saves = false
  /// Whether the hub restores the previous settings after the last client has left.
  public var restores = false
  /// Whether the receiver gets corrections, and must report their use.
  public var reportsCorrections = false

  public init() {}

  /// The names of the settings in board files.
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

  /// The settings that have a value.
  var keys: [Key] {
    let isSet: [(Key, Bool)] = [
      (.rateHz, rateHz != nil), (.constellations, constellations != nil), (.dynamicModel, dynamicModel != nil),
      (.powerMode, powerMode != nil), (.messages, messages != nil), (.setSpeed, speed != nil), (.saves, saves),
      (.restores, restores),
    ]
    return isSet.filter(\.1).map(\.0)
  }

  /// The interval of epochs in milliseconds.
  var milliseconds: UInt16? { rateHz.map { UInt16(clamping: Int((1000 / $0).rounded())) } }
}

/// The sleep mode of a receiver that no client needs.
public enum ReceiverSleep: String, CaseIterable, Sendable {
  /// The supply is switched off.
  case off
  /// The receiver keeps its clock and its satellite data, and loses its settings.
  case backup
  /// The receiver receives nothing, and keeps its data.
  case standby
  /// Only the receiving part is stopped.
  case stop
}
