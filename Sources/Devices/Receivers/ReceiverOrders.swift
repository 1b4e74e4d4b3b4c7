import HardwareIO

/// The configured treatment of a receiver.
public struct ReceiverOrders: Sendable {
  public var driver: ReceiverDriver
  /// At which it is expected; `nil` to find out.
  public var speed: BaudRate?
  public var settings: ReceiverSettings
  /// Its kind of rest; `nil` if it has none.
  public var sleep: ReceiverSleep?
  /// How it rests is chosen each time that it is not wanted any more; `sleep` says nothing then.
  public var choosesSleep = false
  /// Whether its supply can be switched.
  public var isSwitched: Bool
  /// Whether something keeps its memory while its supply is off.
  public var hasBackupBattery = true

  public init(
    driver: ReceiverDriver = .nmea, speed: BaudRate? = nil, settings: ReceiverSettings = .init(),
    sleep: ReceiverSleep? = nil, isSwitched: Bool = false
  ) {
    self.driver = driver
    self.speed = speed
    self.settings = settings
    self.sleep = sleep
    self.isSwitched = isSwitched
  }

  /// How it rests with its supply on.
  var rest: ReceiverSleep? { sleep == .off ? nil : sleep }

  /// Whether to store its knowledge for it when its supply is switched off.
  var keepsKnowledge: Bool { !hasBackupBattery && isSwitched && rest == nil && driver.speaks }

  /// Whether it is told to rest, or may be.
  public var sleepsSupplied: Bool { rest != nil || choosesSleep }

  /// Whether nothing else can be done about it.
  var mustRest: Bool { rest != nil || choosesSleep && !isSwitched }

  /// When a receiver that is put to sleep unknown, as at the start, ends that sleep at the latest; `nil` if it never does.
  public var sleepLimit: SleepLimit? {
    guard mustRest, !isSwitched, driver == .ublox || driver == .auto, rest != .stop else { return nil }
    return SleepLimit(duration: .milliseconds(Int64(UbloxReceiver.longestSleepMilliseconds)), isWakeable: true)
  }

  /// The speed that its owner states, which is tried first.
  var likelySpeeds: [BaudRate] {
    [speed, settings.speed].compactMap { $0 }.reduce(into: []) { unique, speed in
      if !unique.contains(speed) { unique.append(speed) }
    }
  }

  /// What wakes it whichever of its ways it was left in.
  var wakingBytes: [UInt8] {
    let sleeps = rest.map { [$0] } ?? (choosesSleep ? driver.sleeps(isSwitched: isSwitched) : [])
    let calls = sleeps.map { driver.wakingBytes(from: $0) }
    return calls.indices.filter { calls.firstIndex(of: calls[$0]) == $0 }.flatMap { calls[$0] }
  }
}
