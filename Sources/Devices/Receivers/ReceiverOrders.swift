import HardwareIO

/// How a receiver is to be treated.
public struct ReceiverOrders: Sendable {
  public var driver: ReceiverDriver
  /// At which it is expected; `nil` to find out.
  public var speed: BaudRate?
  public var settings: ReceiverSettings
  /// How it rests; `nil` where nothing can be done about it.
  public var sleep: ReceiverSleep?
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

  /// Whether what it knows is to be kept for it while its supply is off.
  var keepsKnowledge: Bool { !hasBackupBattery && isSwitched && rest == nil && driver.speaks }

  /// Whether it is told to rest.
  public var sleepsSupplied: Bool { rest != nil }

  /// Where it is to be looked for first, by what its owner says.
  var likelySpeeds: [BaudRate] {
    [speed, settings.speed].compactMap { $0 }.reduce(into: []) { unique, speed in
      if !unique.contains(speed) { unique.append(speed) }
    }
  }

  /// Whether it keeps its settings when it is not wanted, be it asleep or not.
  var outlastsRuns: Bool { rest != nil || !isSwitched }
}
