import MonotonicTime

/// The activity of a receiver, which determines its current.
public enum ReceiverPhase: String, CaseIterable, Sendable {
  case off
  /// The receiver has its supply, but cannot send or receive yet.
  case booting
  case searching
  case tracking
  /// The radio is off by command; commands are still answered.
  case stopped
  /// The receiver sleeps, and keeps its RAM.
  case standby
  /// The receiver sleeps. Only its clock and backup RAM have a supply.
  case backup

  var isAwake: Bool { self == .searching || self == .tracking || self == .stopped }
}

/// The charge that a receiver has drawn from its supply and its backup pin together.
public struct ReceiverCharge: Sendable {
  public private(set) var coulombs = 0.0
  /// The time spent in each phase.
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
