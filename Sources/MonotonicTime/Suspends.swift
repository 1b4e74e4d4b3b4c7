import Guarding

/// An observer that is called after each suspension of the machine, until `end()` is called or the observation is
/// released.
public final class SuspendObservation: Sendable {
  fileprivate let resumed: @Sendable (Duration) -> Void
  private let observers: SuspendObservers?

  fileprivate init(_ resumed: @escaping @Sendable (Duration) -> Void, _ observers: SuspendObservers?) {
    self.resumed = resumed
    self.observers = observers
  }

  /// An observation that is never called, for clocks that are never suspended.
  static let none = SuspendObservation({ _ in }, nil)

  public func end() { observers?.remove(self) }
}

/// The observers of a clock's suspensions.
final class SuspendObservers: Sendable {
  /// A weak reference, so that releasing an observation ends it.
  private struct Reference: Sendable {
    weak var observation: SuspendObservation?
  }

  private let references = Guarded<[Reference]>([])

  func add(_ resumed: @escaping @Sendable (Duration) -> Void) -> SuspendObservation {
    let observation = SuspendObservation(resumed, self)
    references.withLock { references in
      references.removeAll { $0.observation == nil }
      references.append(Reference(observation: observation))
    }
    return observation
  }

  fileprivate func remove(_ observation: SuspendObservation) {
    references.withLock { $0.removeAll { $0.observation == nil || $0.observation === observation } }
  }

  /// Tells all observers, in the order in which they were added.
  func tell(_ slept: Duration) {
    let observations = references.withLock { $0.compactMap(\.observation) }
    for observation in observations { observation.resumed(slept) }
  }
}

/// Decides from the machine's clocks whether it was suspended. CLOCK_BOOTTIME continues during a suspension, and
/// CLOCK_MONOTONIC does not.
///
/// The clocks cannot be read at the same instant, and a thread may lose the processor between two readings.
/// CLOCK_BOOTTIME is therefore read between two readings of CLOCK_MONOTONIC, which bound the difference from both
/// sides, so that a slow thread never counts as a suspension.
struct SuspendDetector: Sendable {
  /// The shortest suspension that is reported, in nanoseconds. Shorter ones are reported once they add up to this
  /// duration.
  static let shortest: Int64 = 100_000_000

  /// An upper bound of the machine's total suspended time at the last report, in nanoseconds. Before the first report,
  /// it is the total at the start.
  private var most: Int64

  init(before: Int64, boottime: Int64) { most = boottime - before }

  /// - Parameters:
  ///   - before: CLOCK_MONOTONIC, nanoseconds, read first
  ///   - boottime: CLOCK_BOOTTIME, read next
  ///   - after: CLOCK_MONOTONIC, read last
  /// - Returns: how long the machine was suspended since the last report; `nil` if that is less than `shortest`
  mutating func look(before: Int64, boottime: Int64, after: Int64) -> Duration? {
    let slept = boottime - after - most
    guard slept >= SuspendDetector.shortest else { return nil }
    most = boottime - before
    return .nanoseconds(slept)
  }
}
