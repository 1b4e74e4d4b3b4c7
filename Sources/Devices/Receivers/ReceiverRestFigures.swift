/// What data sheets say of a way to rest.
public struct ReceiverRestFigures: Equatable, Sendable {
  /// The power that it draws at rest; 0 for one that is off, whatever its own battery supplies.
  public var milliamperes: Double
  /// The time from its waking to its first fix, after at most two hours of rest.
  public var startSeconds: Double

  /// The time to a fix of a receiver without any knowledge.
  public static let coldSeconds = 30.0
  /// A first fix with valid knowledge: a second in most data sheets.
  private static let hotSeconds = 1.0
  /// The same by the ephemerides that the host has kept for it; others than u-blox receivers are told time and place alone.
  private static let helpedSeconds = 5.0
  /// From its waking, or its supply's coming on, until it is at work.
  private static let wakingSeconds = 0.5

  /// - Parameters:
  ///   - sleep: a way to rest
  ///   - driver: of the receiver, if it is known
  ///   - hasBackupBattery: whether something keeps its memory while its supply is off
  public init(_ sleep: ReceiverSleep, of driver: ReceiverDriver, hasBackupBattery: Bool = true) {
    let (waking, hot) = (ReceiverRestFigures.wakingSeconds, ReceiverRestFigures.hotSeconds)
    // Some wake from this only by switching their supply off and on, and then their knowledge has not been saved.
    let wakesBySupply = driver == .casic || sleep == .backup && (driver == .mediatek || driver == .airoha)
    let keepsMemory = hasBackupBattery || !wakesBySupply
    let isHelped = driver == .ublox || driver == .auto
    switch sleep {
    case .off:
      let unknowing = isHelped ? ReceiverRestFigures.helpedSeconds : ReceiverRestFigures.coldSeconds
      (milliamperes, startSeconds) = (0, waking + (hasBackupBattery ? hot : unknowing))
    case .backup: (milliamperes, startSeconds) = (0.03, waking + (keepsMemory ? hot : ReceiverRestFigures.coldSeconds))
    case .standby:
      // AT6558: 10 uA; MT3333: 1 mA; of an AG3352, whose receiving part alone is off, 3 mA.
      milliamperes = driver == .casic ? 0.01 : driver == .airoha ? 3 : 1
      startSeconds = waking + (keepsMemory ? hot : ReceiverRestFigures.coldSeconds)
    case .stop: (milliamperes, startSeconds) = (10, hot)
    }
  }
}

extension ReceiverDriver {
  /// The kind of rest in which its receivers draw the least; `nil` if there is none from which they wake.
  ///
  /// - Parameter isSwitched: whether their supply can be switched
  func deepestSleep(isSwitched: Bool) -> ReceiverSleep? {
    func milliamperes(_ sleep: ReceiverSleep) -> Double { ReceiverRestFigures(sleep, of: self).milliamperes }
    return sleeps(isSwitched: isSwitched).min { milliamperes($0) < milliamperes($1) }
  }
}
