import MonotonicTime

/// Since when the switched supplies of a machine are off, for the next hub on it.
///
/// Instants are the kernel's, which count from the machine's start: once it has started again those of before are in the future, and
/// nothing is known. One that happens to be in the past all the same makes a device wait for its least time off once more, at most.
public struct SupplyTimes: Codable, Equatable, Sendable {
  /// When this was taken down, nanoseconds.
  public var at: Int64
  /// Whether the hub was running: its supplies may have been on.
  public var isRunning = false
  /// By the name of the line, nanoseconds.
  public var offSince: [String: Int64] = [:]

  public init(at instant: MonotonicInstant, isRunning: Bool = false) {
    at = instant.nanoseconds
    self.isRunning = isRunning
  }
}
