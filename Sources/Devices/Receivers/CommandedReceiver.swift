import HardwareIO

/// An identified receiver that takes commands in its protocol.
protocol CommandedReceiver: Sendable {
  /// The protocol of the receiver's commands.
  var driver: ReceiverDriver { get }
  /// The manufacturer, the model and the version.
  var name: String { get }
  /// The identity that the receiver has reported.
  var identity: ReceiverIdentity { get }
  /// Asks for the unique number, if the receiver has one.
  mutating func askForUniqueID(_ channel: CommandChannel) throws(HardwareError)
  /// Applies the settings, and records those that could not be applied. Returns early if the reader is told to stop.
  mutating func configure(
    _ settings: ReceiverSettings, _ channel: CommandChannel, _ report: inout SettingReport
  ) throws(HardwareError)
  /// Restores the settings from before `configure`, if requested.
  mutating func restore(_ channel: CommandChannel) throws(HardwareError)
  /// Tells the receiver to sleep. Only its silence afterwards shows that it sleeps.
  func sleep(_ sleep: ReceiverSleep, _ channel: CommandChannel) throws(HardwareError)
  /// The time after which the receiver leaves a sleep mode by itself; `nil` if never.
  func longestSleep(in sleep: ReceiverSleep) -> Duration?
  /// The bytes that wake the receiver; `nil` if only switching its supply wakes it.
  func wakingBytes(from sleep: ReceiverSleep) -> [UInt8]?
  /// Restarts the receiver with a command: hot, warm or cold. The receiver may lose its settings, including its speed.
  func restart(_ restart: ReceiverRestart, _ channel: CommandChannel) throws(HardwareError)
  /// Whether the receiver must be configured again after a sleep.
  func forgetsSettings(in sleep: ReceiverSleep) -> Bool
  /// Whether `keepKnowledge` with `mayStop` stops the receiver while the receiver stores its satellite data.
  var stopsToKeepKnowledge: Bool { get }
  /// Makes the receiver report or store its satellite data before its supply is switched off.
  ///
  /// - Parameters:
  ///   - mayStop: whether the receiver may be stopped so that it can write the data into its flash
  ///   - hasBackup: whether the receiver's flash has earlier data
  func keepKnowledge(
    _ channel: CommandChannel, mayStop: Bool, hasBackup: Bool
  ) throws(HardwareError) -> KeptKnowledge
  /// Makes the receiver erase the satellite data in its flash.
  func clearBackup(_ channel: CommandChannel) throws(HardwareError)
  /// Sends the receiver its earlier satellite data, the time and its position.
  func giveBack(_ knowledge: GivenKnowledge, _ channel: CommandChannel) throws(HardwareError) -> ReceiverAnswer
}

extension CommandedReceiver {
  mutating func askForUniqueID(_ channel: CommandChannel) throws(HardwareError) {}

  func longestSleep(in sleep: ReceiverSleep) -> Duration? { nil }

  func sleepLimit(in sleep: ReceiverSleep) -> SleepLimit? {
    longestSleep(in: sleep).map { SleepLimit(duration: $0, isWakeable: wakingBytes(from: sleep) != nil) }
  }

  var stopsToKeepKnowledge: Bool { false }

  func keepKnowledge(
    _ channel: CommandChannel, mayStop: Bool, hasBackup: Bool
  ) throws(HardwareError) -> KeptKnowledge { .nothing }

  func clearBackup(_ channel: CommandChannel) throws(HardwareError) {}

  func giveBack(
    _ knowledge: GivenKnowledge, _ channel: CommandChannel
  ) throws(HardwareError) -> ReceiverAnswer { .accepted }
}

extension CommandedReceiver {
  /// Tells the receiver to sleep, and listens until it is silent.
  ///
  /// - Returns: whether it has fallen silent
  func fallAsleep(
    _ rest: ReceiverSleep, _ channel: CommandChannel, _ settings: ReceiverSettings
  ) throws(HardwareError) -> Bool {
    try sleep(rest, channel)
    let period = settings.rateHz.map { Duration.nanoseconds(Int64(1e9 / $0)) } ?? .seconds(1)
    return try channel.awaitSilence(
      of: max(period + period / 4, .milliseconds(400)), within: period * 3 + .seconds(1))
  }
}

/// The time at which a receiver leaves its sleep mode by itself.
public struct SleepLimit: Equatable, Sendable {
  /// The duration by the receiver's own clock, which may be wrong by 1 %.
  public var duration: Duration
  /// Whether bytes wake the receiver earlier. If not, it ignores all bytes until it wakes.
  public var isWakeable: Bool

  /// The time after falling asleep by which the supply must be off, because the receiver may wake at any time after
  /// that.
  public var end: Duration { duration * 99 / 100 }

  /// The time after falling asleep at which the hub tells the receiver to sleep again. A receiver that bytes wake is
  /// told just before its sleep ends. Any other is told only after it has certainly woken, because it ignores bytes
  /// until then.
  public var renewal: Duration { isWakeable ? end : duration * 101 / 100 }
}
