/// The figures of a sleep mode from data sheets.
public struct ReceiverSleepFigures: Equatable, Sendable {
  /// The current at rest; 0 if it is off, whatever its own battery supplies.
  public var milliamperes: Double
  /// The time from waking to the first fix, after at most two hours of rest.
  public var startSeconds: Double

  /// The time to a fix without any data.
  public static let coldSeconds = 30.0
  /// The time to a fix with valid data: a second in most data sheets.
  private static let hotSeconds = 1.0
  /// The time to a fix with ephemerides from the host. Receivers other than u-blox get only time and position.
  private static let helpedSeconds = 5.0
  /// The time from waking, or power on, until it works.
  private static let wakingSeconds = 0.5

  /// - Parameters:
  ///   - sleep: the sleep mode
  ///   - driver: the receiver's driver, if known
  ///   - hasBackupBattery: whether a battery keeps its memory while its supply is off
  public init(_ sleep: ReceiverSleep, of driver: ReceiverDriver, hasBackupBattery: Bool = true) {
    let (waking, hot) = (ReceiverSleepFigures.wakingSeconds, ReceiverSleepFigures.hotSeconds)
    // Some receivers leave this mode only if their supply is switched off and on, and then their data has not been
    // saved.
    let wakesBySupply = driver == .casic || sleep == .backup && (driver == .mediatek || driver == .airoha)
    let keepsMemory = hasBackupBattery || !wakesBySupply
    let isHelped = driver == .ublox || driver == .auto
    switch sleep {
    case .off:
      let unknowing = isHelped ? ReceiverSleepFigures.helpedSeconds : ReceiverSleepFigures.coldSeconds
      (milliamperes, startSeconds) = (0, waking + (hasBackupBattery ? hot : unknowing))
    case .backup: (milliamperes, startSeconds) = (0.03, waking + (keepsMemory ? hot : ReceiverSleepFigures.coldSeconds))
    case .standby:
      // The currents are 10 uA for an AT6558, 1 mA for an MT3333, and 3 mA for an AG3352, whose receiving part alone is
      // off.
      milliamperes = driver == .casic ? 0.01 : driver == .airoha ? 3 : 1
      startSeconds = waking + (keepsMemory ? hot : ReceiverSleepFigures.coldSeconds)
    case .stop: (milliamperes, startSeconds) = (10, hot)
    }
  }
}

extension ReceiverDriver {
  /// The sleep mode in which its receivers draw the least; `nil` if they wake from none.
  ///
  /// - Parameter isSwitched: whether their supply can be switched
  func deepestSleep(isSwitched: Bool) -> ReceiverSleep? {
    func milliamperes(_ sleep: ReceiverSleep) -> Double { ReceiverSleepFigures(sleep, of: self).milliamperes }
    return sleeps(isSwitched: isSwitched).min { milliamperes($0) < milliamperes($1) }
  }
}
