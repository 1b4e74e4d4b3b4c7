import HardwareIO

/// A receiver that has said who it is, and is spoken to in its own language.
protocol CommandedReceiver: Sendable {
  /// In whose language it is spoken to.
  var driver: ReceiverDriver { get }
  /// Maker, model and version.
  var name: String { get }
  /// Who it is by its own words.
  var identity: ReceiverIdentity { get }
  /// Asks for its unique number, if it has one.
  mutating func askForUniqueID(_ dialogue: ReceiverDialogue) throws(HardwareError)
  /// Applies the settings, and notes those that could not be set; returns early if the reader is told to stop.
  mutating func configure(
    _ settings: ReceiverSettings, _ dialogue: ReceiverDialogue, _ report: inout SettingReport
  ) throws(HardwareError)
  /// Puts back what `configure` has found, where the settings ask for that.
  mutating func restore(_ dialogue: ReceiverDialogue) throws(HardwareError)
  /// Tells it to rest. Whether it does is seen by its silence.
  func sleep(_ sleep: ReceiverSleep, _ dialogue: ReceiverDialogue) throws(HardwareError)
  /// After how long it ends its rest by itself; `nil` where it never does.
  func longestSleep(in sleep: ReceiverSleep) -> Duration?
  /// What wakes it; `nil` where its supply alone does, switched off and on.
  func wakingBytes(from sleep: ReceiverSleep) -> [UInt8]?
  /// Restarts it by command: hot, warm or cold. Its settings may be lost, including its speed.
  func restart(_ restart: ReceiverRestart, _ dialogue: ReceiverDialogue) throws(HardwareError)
  /// Whether it has to be set again after it has rested.
  func forgetsSettings(in sleep: ReceiverSleep) -> Bool
  /// Makes it report, or store, its knowledge of the satellites, before its supply is switched off.
  ///
  /// - Parameters:
  ///   - mayStop: whether it may be stopped for that, and its flash be written
  ///   - hasBackup: whether earlier knowledge is in its flash
  func keepKnowledge(
    _ dialogue: ReceiverDialogue, mayStop: Bool, hasBackup: Bool
  ) throws(HardwareError) -> KeptKnowledge
  /// Has it forget what lies in its flash of that.
  func clearBackup(_ dialogue: ReceiverDialogue) throws(HardwareError)
  /// Sends it its earlier knowledge, the time and its position.
  func giveBack(_ knowledge: GivenKnowledge, _ dialogue: ReceiverDialogue) throws(HardwareError) -> ReceiverAnswer
}

extension CommandedReceiver {
  mutating func askForUniqueID(_ dialogue: ReceiverDialogue) throws(HardwareError) {}

  func longestSleep(in sleep: ReceiverSleep) -> Duration? { nil }

  func sleepLimit(in sleep: ReceiverSleep) -> SleepLimit? {
    longestSleep(in: sleep).map { SleepLimit(duration: $0, isWakeable: wakingBytes(from: sleep) != nil) }
  }

  func keepKnowledge(
    _ dialogue: ReceiverDialogue, mayStop: Bool, hasBackup: Bool
  ) throws(HardwareError) -> KeptKnowledge { .nothing }

  func clearBackup(_ dialogue: ReceiverDialogue) throws(HardwareError) {}

  func giveBack(
    _ knowledge: GivenKnowledge, _ dialogue: ReceiverDialogue
  ) throws(HardwareError) -> ReceiverAnswer { .accepted }
}

/// When a receiver ends its sleep by itself.
public struct SleepLimit: Equatable, Sendable {
  /// How long it sleeps, by a clock of its own, which may be wrong by a hundredth.
  public var duration: Duration
  /// Whether bytes wake it before. Otherwise it hears nothing until it wakes.
  public var isWakeable: Bool

  /// After what time its supply must be off if it is not to wake.
  public var end: Duration { duration * 99 / 100 }

  /// After what time it can be told to sleep again.
  public var renewal: Duration { isWakeable ? end : duration * 101 / 100 }
}
