import MonotonicTime

/// Since when the switched supplies of a machine are off, for the next run of the hub.
///
/// Instants are the kernel's, which count from the machine's start. After a restart of the machine, stored instants are
/// in the future and therefore ignored. If one happens to be in the past, it makes a device wait for its minimum time
/// off once more, at most.
public struct SupplyTimes: Codable, Equatable, Sendable {
  /// When these times were recorded, nanoseconds.
  public var at: Int64
  /// Whether the hub was running, so that its supplies may have been on.
  public var isRunning = false
  /// The times by line name, nanoseconds.
  public var offSince: [String: Int64] = [:]

  public init(at instant: MonotonicInstant, isRunning: Bool = false) {
    at = instant.nanoseconds
    self.isRunning = isRunning
  }
}
