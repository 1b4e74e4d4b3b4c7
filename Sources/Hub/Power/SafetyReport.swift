/// The results of switching a board's devices off.
public struct SafetyReport: Equatable, Sendable {
  /// The problems, in words.
  public var problems: [String] = []
  /// The IDs of the missing devices, which could not be put to sleep.
  public var absent: [String] = []
  /// Whether another program uses a device, as a running hub does.
  public var isHeld = false
  /// Whether a device has a power line that the hub can drive.
  public var hasPowerLines = false

  public init() {}

  public static func += (all: inout SafetyReport, other: SafetyReport) {
    all.problems += other.problems
    all.absent += other.absent.filter { !all.absent.contains($0) }
    all.isHeld = all.isHeld || other.isHeld
    all.hasPowerLines = all.hasPowerLines || other.hasPowerLines
  }
}
