import MonotonicTime

/// A problem of a device, described for people: what is wrong, since when, and the next step.
///
/// Only `DeviceHealth` and `DeviceStatusMachine` make conditions. Outputs render the conditions, and add no words of
/// their own.
public struct DeviceCondition: Equatable, Sendable {
  /// The kind of condition. Outputs use the raw value as its name.
  public enum Kind: String, CaseIterable, Sendable {
    /// The device could not be read when it was last needed.
    case failed
    /// The device is read, but has measured nothing useful since a client needed it.
    case acquiring
    /// The supply could not be switched off.
    case supply
    /// The device works, but with a warning.
    case warning = "remark"
  }

  /// The severity, in ascending order.
  public enum Severity: String, CaseIterable, Comparable, Sendable {
    /// The device needs more time, which is normal.
    case waiting
    /// A person should check the device.
    case warning
    /// The device does not work.
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
  /// The next step; `nil` if the summary contains it, or none is known.
  public var nextStep: String?
  /// The beginning of the condition. For a repeated failure it is the first failure.
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
