/// What came of having a board's devices off.
public struct SafetyReport: Equatable, Sendable {
  /// What went wrong, in words.
  public var problems: [String] = []
  /// The devices that were to be put to sleep and are not there, by their IDs.
  public var absent: [String] = []
  /// Whether somebody else has one of them, as a hub does that runs.
  public var isHeld = false
  /// Whether any of them has a power line that the hub can drive.
  public var hasPowerLines = false

  public init() {}

  public static func += (all: inout SafetyReport, other: SafetyReport) {
    all.problems += other.problems
    all.absent += other.absent.filter { !all.absent.contains($0) }
    all.isHeld = all.isHeld || other.isHeld
    all.hasPowerLines = all.hasPowerLines || other.hasPowerLines
  }
}
