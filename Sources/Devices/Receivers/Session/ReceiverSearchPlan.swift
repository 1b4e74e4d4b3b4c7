import HardwareIO

/// How to find a receiver on its line: the speeds at which to listen, in order, and what to send first.
///
/// This value does no I/O. `ReceiverFinder` carries it out.
struct ReceiverSearchPlan: Equatable, Sendable {
  struct Attempt: Equatable, Sendable {
    /// The speeds at which to listen, one after the other.
    var speeds: [BaudRate]
    /// The bytes to send first at each speed, in case the receiver is asleep.
    var wakingBytes: [UInt8] = []
    /// Whether the receiver answers these bytes at once, so that there is no need to wait for its next report.
    var isQuestion = false
  }

  /// The step that follows if no attempt has heard the receiver.
  enum Fallback: Equatable, Sendable {
    /// Listen at all usual speeds.
    case usualSpeeds
    /// Fail, because no bytes end this sleep mode, and the supply stays on.
    case wakesBySupplyAlone(ReceiverSleep)
    /// Fail, so that the hub switches the supply off and on, because the receiver has not left this sleep mode.
    case staysAsleep(ReceiverSleep)
  }

  var attempts: [Attempt]
  var fallback = Fallback.usualSpeeds

  /// The plan for the start of a run.
  ///
  /// - Parameter asleep: the receiver's present sleep mode; `nil` if it is not known to sleep
  init(_ configuration: ReceiverConfiguration, _ known: ReceiverMemory.Contents, asleep: ReceiverSleep?) {
    let likely = ReceiverSearchPlan.likelySpeeds(configuration, known, asleep: asleep)
    attempts = [Attempt(speeds: likely)]
    if let asleep {
      let bytes: [UInt8]? =
        known.receiver.map { $0.wakingBytes(from: asleep) } ?? configuration.driver.wakingBytes(from: asleep)
      guard let bytes else {
        fallback = .wakesBySupplyAlone(asleep)
        return
      }
      let call = Attempt(speeds: likely, wakingBytes: bytes)
      if configuration.isSwitched {
        (attempts, fallback) = ([call, call], .staysAsleep(asleep))
      } else {
        attempts = [call, call] + attempts
      }
    } else if configuration.sleepsSupplied, !configuration.isSwitched {
      // An earlier hub may have left the receiver asleep. At a wrong speed the waking bytes are noise to the receiver,
      // and it tolerates only a little noise, so only few speeds are tried.
      let speeds = likely.isEmpty ? Array(SerialReceiver.usualSpeeds.prefix(3)) : likely
      attempts.insert(Attempt(speeds: speeds, wakingBytes: configuration.wakingBytes), at: 0)
    }
    attempts += ReceiverSearchPlan.questions(configuration, known, likely)
  }

  /// The plan after a restart of the receiver, which may have lost its speed.
  init(_ configuration: ReceiverConfiguration, _ known: ReceiverMemory.Contents, restartedAt speed: BaudRate) {
    let likely = ReceiverSearchPlan.likelySpeeds(configuration, known, asleep: nil)
    let speeds = ([speed] + likely).unique
    attempts = [Attempt(speeds: speeds)] + ReceiverSearchPlan.questions(configuration, known, speeds)
  }

  /// The attempts for a receiver from Unicore, which may send nothing until it gets a command: by factory setting, or
  /// because the last run ended between UNLOG and the sentences. The likely speeds are tried twice, in case the receiver
  /// was still starting.
  private static func questions(
    _ configuration: ReceiverConfiguration, _ known: ReceiverMemory.Contents, _ likely: [BaudRate]
  ) -> [Attempt] {
    guard (known.receiver?.driver ?? configuration.driver) == .unicore else { return [] }
    let speeds = [(likely + SerialReceiver.usualSpeeds).unique, likely]
    return speeds.map { Attempt(speeds: $0, wakingBytes: UnicoreReceiver.question, isQuestion: true) }
  }

  /// The speeds to try first.
  static func likelySpeeds(
    _ configuration: ReceiverConfiguration, _ known: ReceiverMemory.Contents, asleep: ReceiverSleep?
  ) -> [BaudRate] {
    // The receiver may have forgotten its speed while it slept.
    let keepsSpeed = asleep.map { known.receiver?.forgetsSettings(in: $0) == false } ?? false
    let speeds = keepsSpeed ? [known.lastSpeed, known.firstSpeed] : [known.firstSpeed, known.lastSpeed]
    return (speeds.compactMap { $0 } + configuration.likelySpeeds).unique
  }
}
