import HardwareIO

/// The configured treatment of a receiver.
public struct ReceiverConfiguration: Sendable {
  public var driver: ReceiverDriver
  /// The expected speed; `nil` to find it.
  public var speed: BaudRate?
  public var settings: ReceiverSettings
  /// The sleep mode; `nil` for none.
  public var sleep: ReceiverSleep?
  /// Whether the sleep mode is chosen each time that no client needs the receiver; `sleep` is ignored then.
  public var choosesSleep = false
  /// Whether its supply can be switched.
  public var isSwitched: Bool
  /// Whether a battery keeps its memory while its supply is off.
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

  /// The sleep mode with its supply on.
  var rest: ReceiverSleep? { sleep == .off ? nil : sleep }

  /// Whether the hub keeps its data while its supply is switched off.
  var keepsKnowledge: Bool { !hasBackupBattery && isSwitched && rest == nil && driver.takesCommands }

  /// Whether it sleeps with its supply on, always or sometimes.
  public var sleepsSupplied: Bool { rest != nil || choosesSleep }

  /// Whether sleeping is the only way to save power.
  var mustRest: Bool { rest != nil || choosesSleep && !isSwitched }

  /// When a receiver that is put to sleep without identification, for example at the start, leaves that sleep at the
  /// latest; `nil` if never.
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

  /// The bytes that wake it from any of its sleep modes.
  var wakingBytes: [UInt8] {
    let sleeps = rest.map { [$0] } ?? (choosesSleep ? driver.sleeps(isSwitched: isSwitched) : [])
    let calls = sleeps.map { driver.wakingBytes(from: $0) }
    return calls.indices.filter { calls.firstIndex(of: calls[$0]) == $0 }.flatMap { calls[$0] }
  }
}
