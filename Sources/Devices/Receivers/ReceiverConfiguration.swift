import HardwareIO

/// How the hub reads and configures a receiver, and puts it to sleep.
public struct ReceiverConfiguration: Sendable {
  public var driver: ReceiverDriver
  /// The expected speed; `nil` to search for it.
  public var speed: BaudRate?
  public var settings: ReceiverSettings
  /// The sleep mode; `nil` for none.
  public var sleep: ReceiverSleep?
  /// Whether the hub chooses the sleep mode each time that no client needs the receiver. In this case it ignores
  /// `sleep`.
  public var choosesSleep = false
  /// Whether the hub can switch the receiver's supply.
  public var isSwitched: Bool
  /// Whether a battery keeps the receiver's memory while its supply is off.
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

  /// The sleep mode while the supply stays on; `nil` for none.
  var rest: ReceiverSleep? { sleep == .off ? nil : sleep }

  /// Whether the hub stores the receiver's satellite data while its supply is switched off.
  var keepsKnowledge: Bool { !hasBackupBattery && isSwitched && rest == nil && driver.takesCommands }

  /// Whether the receiver sleeps while its supply stays on, always or sometimes.
  public var sleepsSupplied: Bool { rest != nil || choosesSleep }

  /// Whether the receiver must be put to sleep when no client needs it, because the board file requests it, or because
  /// the hub cannot switch the supply off instead.
  var mustRest: Bool { rest != nil || choosesSleep && !isSwitched }

  /// The limit after which a receiver that sleeps leaves its sleep mode by itself; `nil` if it never does. This limit
  /// applies to a receiver that the hub put to sleep without identifying it, for example when the hub starts.
  public var sleepLimit: SleepLimit? {
    guard mustRest, !isSwitched, driver == .ublox || driver == .auto, rest != .stop else { return nil }
    return SleepLimit(duration: .milliseconds(Int64(UbloxReceiver.longestSleepMilliseconds)), isWakeable: true)
  }

  /// The speeds that are tried first: those in the board file, and the factory speed of Quectel and Unicore.
  var likelySpeeds: [BaudRate] {
    let factory: BaudRate? = driver == .quectel ? .b460800 : driver == .unicore ? .b115200 : nil
    return [speed, settings.speed, factory].compactMap { $0 }.unique
  }

  /// The bytes that wake the receiver from any of its sleep modes.
  var wakingBytes: [UInt8] {
    let sleeps = rest.map { [$0] } ?? (choosesSleep ? driver.sleeps(isSwitched: isSwitched) : [])
    let calls = sleeps.map { driver.wakingBytes(from: $0) }
    return calls.indices.filter { calls.firstIndex(of: calls[$0]) == $0 }.flatMap { calls[$0] }
  }
}

extension [BaudRate] {
  /// The speeds in the same order, each only once.
  var unique: [BaudRate] {
    reduce(into: []) { unique, speed in if !unique.contains(speed) { unique.append(speed) } }
  }
}
