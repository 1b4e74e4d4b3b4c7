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
    /// Under a good sky, this mode is as accurate as full power, and needs less energy.
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

  /// The longest usual time between two reports of the receiver. It is a second, unless `rateHz` is lower: the receiver
  /// may have another rate until it is configured.
  public var reportInterval: Duration { .seconds(max(1, 1 / (rateHz ?? 1))) }

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

/// The settings that could not be applied to a receiver, in words, with the next step.
struct SettingReport {
  private(set) var problems: [String] = []
  /// The number of consecutive settings without an answer.
  private var unansweredInARow = 0
  private var isStopped = false
  /// The changes that receivers have saved since the hub started, each with the receiver, the command and the value. A
  /// receiver that has another value afterwards does not keep the setting.
  var savedChanges: Set<String> = []

  /// Records the result of a setting.
  ///
  /// - Parameter setting: the setting's key in the board file
  mutating func note(_ setting: String, _ answer: ReceiverAnswer) {
    if answer == .stopped { isStopped = true }
    unansweredInARow = answer == .unanswered ? unansweredInARow + 1 : 0
    switch answer {
    case .accepted, .answered, .stopped: break
    case .refused: problems.append("it refused \(setting): \(SettingReport.nextStep(setting))")
    case .otherwise(let what):
      problems.append("it answered \(setting) with \(what); the hub tries again at the next start")
    case .unanswered:
      problems.append(
        "it did not answer \(setting): check that this board's TX is connected to the receiver's RX")
    }
  }

  /// Records a problem with a setting that is known without an answer from the receiver.
  mutating func lacks(_ setting: String, _ problem: String) { problems.append("\(setting): \(problem)") }

  /// Whether the receiver left the last two settings without an answer.
  var isUnanswered: Bool { unansweredInARow >= 2 }

  /// Whether further settings are pointless.
  var isHopeless: Bool { isStopped || isUnanswered }

  private static func nextStep(_ setting: String) -> String {
    switch setting {
    case "rateHz": "set a lower rate, or fewer constellations"
    case "constellations": "set fewer; many receivers support at most three at once"
    case "setSpeed": "remove the key, or set a usual speed"
    case "saves": "the receiver has no memory for settings; remove the key, because the hub sets them at each start"
    default: "remove the key, because this receiver has no such setting"
    }
  }
}

/// The current of a sleep mode, and the time of a start from it, from data sheets.
public struct ReceiverSleepFigures: Equatable, Sendable {
  /// The current from the supply during sleep, mA; 0 if the supply is off. The current from a backup battery does not
  /// count.
  public var milliamperes: Double
  /// The time from waking to the first fix, after a sleep of at most two hours.
  public var startSeconds: Double

  /// The time from a start without any data to a fix.
  public static let coldSeconds = 30.0
  /// The time from a start with valid data to a fix, which is a second in most data sheets.
  private static let hotSeconds = 1.0
  /// The time to a fix after a start for which the host supplies ephemerides. This applies only to u-blox receivers.
  /// The host supplies other receivers only with time and position, so they need a cold start.
  private static let helpedSeconds = 5.0
  /// The time from waking, or power on, until the receiver works.
  private static let wakingSeconds = 0.5

  /// - Parameters:
  ///   - sleep: the sleep mode
  ///   - driver: the protocol of the receiver's commands
  ///   - hasBackupBattery: whether a battery keeps its memory while its supply is off
  public init(_ sleep: ReceiverSleep, of driver: ReceiverDriver, hasBackupBattery: Bool = true) {
    let (waking, hot) = (ReceiverSleepFigures.wakingSeconds, ReceiverSleepFigures.hotSeconds)
    // Some receivers leave this mode only if their supply is switched off and on. The hub has not saved their data
    // then, so only a battery can keep the data.
    let wakesBySupply = driver == .casic || sleep == .backup && (driver == .mediatek || driver == .airoha)
    let keepsMemory = hasBackupBattery || !wakesBySupply
    let isHelped = driver == .ublox || driver == .auto
    switch sleep {
    case .off:
      let unknowing = isHelped ? ReceiverSleepFigures.helpedSeconds : ReceiverSleepFigures.coldSeconds
      (milliamperes, startSeconds) = (0, waking + (hasBackupBattery ? hot : unknowing))
    case .backup: (milliamperes, startSeconds) = (0.03, waking + (keepsMemory ? hot : ReceiverSleepFigures.coldSeconds))
    case .standby:
      // The currents are 10 uA for an AT6558, 1 mA for an MT3333, and 3 mA for an AG3352, in which only the receiving
      // part is off.
      milliamperes = driver == .casic ? 0.01 : driver == .airoha ? 3 : 1
      startSeconds = waking + (keepsMemory ? hot : ReceiverSleepFigures.coldSeconds)
    case .stop: (milliamperes, startSeconds) = (10, hot)
    }
  }
}

extension ReceiverDriver {
  /// The sleep mode in which receivers with this protocol draw the least current; `nil` if nothing wakes them from any
  /// sleep mode.
  ///
  /// - Parameter isSwitched: whether their supply can be switched
  func deepestSleep(isSwitched: Bool) -> ReceiverSleep? {
    func milliamperes(_ sleep: ReceiverSleep) -> Double { ReceiverSleepFigures(sleep, of: self).milliamperes }
    return sleeps(isSwitched: isSwitched).min { milliamperes($0) < milliamperes($1) }
  }
}
