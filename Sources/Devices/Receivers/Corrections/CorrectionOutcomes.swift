import UBX

/// The numbers of correction messages that a receiver reports as read, by their use.
public struct CorrectionOutcomes: Equatable, Sendable {
  public var used = 0
  public var unused = 0
  /// Messages for which the receiver does not state whether it used them.
  public var unknown = 0
  /// Messages with a wrong checksum, because the line has lost or added bytes.
  public var damaged = 0

  public init() {}

  /// Whether the receiver has reported no messages.
  public var isEmpty: Bool { self == CorrectionOutcomes() }

  mutating func note(_ report: CorrectionReport) {
    switch report.outcome {
    case .used: used += 1
    case .unused: unused += 1
    case .unknown: unknown += 1
    case .damaged: damaged += 1
    }
  }

  static func += (sum: inout CorrectionOutcomes, more: CorrectionOutcomes) {
    sum.used += more.used
    sum.unused += more.unused
    sum.unknown += more.unknown
    sum.damaged += more.damaged
  }
}
