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
  /// The time from a start with ephemerides from the host to a fix. Receivers other than u-blox get only time and
  /// position.
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
  /// The sleep mode in which receivers with this protocol draw the least current; `nil` if they wake from no sleep
  /// mode.
  ///
  /// - Parameter isSwitched: whether their supply can be switched
  func deepestSleep(isSwitched: Bool) -> ReceiverSleep? {
    func milliamperes(_ sleep: ReceiverSleep) -> Double { ReceiverSleepFigures(sleep, of: self).milliamperes }
    return sleeps(isSwitched: isSwitched).min { milliamperes($0) < milliamperes($1) }
  }
}
