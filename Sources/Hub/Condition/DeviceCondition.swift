import MonotonicTime

/// The explanation of a device that does not do what its clients want, for people: the problem, its beginning, and the
/// next step.
///
/// `DeviceHealth` and `DeviceMonitor` make it, and nothing else does. Outputs render it and add no words of their own.
public struct DeviceCondition: Equatable, Sendable {
  /// What kind of condition it is. Each is also the word for it.
  public enum Kind: String, CaseIterable, Sendable {
    /// It could not be read when it was wanted last.
    case failed
    /// It is read, and has measured nothing useful since it was wanted.
    case acquiring
    /// Its supply could not be switched off.
    case supply
    /// It works, and something about it is not as it should be.
    case remark
  }

  /// How much it matters, the least first.
  public enum Severity: String, CaseIterable, Comparable, Sendable {
    /// It takes its time, as usual.
    case waiting
    /// A person should look after it.
    case warning
    /// It does not work.
    case problem

    public static func < (a: Severity, b: Severity) -> Bool { a.rank < b.rank }

    private var rank: Int {
      switch self {
      case .waiting: 0
      case .warning: 1
      case .problem: 2
      }
    }
  }

  public var kind: Kind
  public var severity: Severity
  /// The problem, without a final full stop: `there is no serial port /dev/ttyUSB0`.
  public var summary: String
  /// What to do about it; `nil` if the summary says that, or nothing is known.
  public var nextStep: String?
  /// Since when. Of a failure that repeats: since the first one.
  public var since: MonotonicInstant

  public init(
    _ kind: Kind, _ severity: Severity, _ summary: String, nextStep: String? = nil, since: MonotonicInstant
  ) {
    self.kind = kind
    self.severity = severity
    self.summary = summary
    self.nextStep = nextStep
    self.since = since
  }

  /// The summary with the next step.
  public var text: String { nextStep.map { "\(summary); \($0)" } ?? summary }
}
