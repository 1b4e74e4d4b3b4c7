import MonotonicTime

/// What a receiver is doing; each has its current.
public enum ReceiverPhase: String, CaseIterable, Sendable {
  case off
  /// Supplied, and not yet able to speak or hear.
  case booting
  case searching
  case tracking
  /// Its radio is off by command; it hears and answers.
  case stopped
  /// Asleep, with what is in its RAM.
  case standby
  /// Asleep but for its clock and backup RAM.
  case backup

  var isAwake: Bool { self == .searching || self == .tracking || self == .stopped }
}

/// What a receiver has drawn, from its supply and its backup pin together.
public struct ReceiverCharge: Sendable {
  public private(set) var coulombs = 0.0
  /// In each phase.
  public private(set) var durations: [ReceiverPhase: Duration] = [:]
  private var last: MonotonicInstant

  init(at now: MonotonicInstant) { last = now }

  mutating func draw(_ amperes: Double, in phase: ReceiverPhase, until now: MonotonicInstant) {
    guard now > last else { return }
    coulombs += amperes * now.seconds(since: last)
    durations[phase, default: .zero] += now - last
    last = now
  }
}
