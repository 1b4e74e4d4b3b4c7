import MonotonicTime

/// Decides which readers hang, by what their threads have stamped from one look to the next.
///
/// It only decides; the stamps, the lock and the timer are `Supervisor`'s. Time counts from the look at which a thread was first seen
/// where it still is: a machine that stood still itself has not made its readers late.
struct SupervisorMachine: Sendable {
  enum Effect: Equatable, Sendable {
    /// The reader has missed its patience: it has failed.
    case stuck(Int)
    /// The reader goes on, which was stuck.
    case freed(Int)
  }

  private struct Watch {
    let patience: Duration
    /// As of the last look.
    var stepCount: UInt64
    /// Since when the thread has been seen there.
    var since: MonotonicInstant
    var isStuck = false
  }

  /// How long the loss of its supply has to free a reader before the process counts as hopeless.
  static let grace = Duration.seconds(10)

  private var watches: [Int: Watch] = [:]

  var isEmpty: Bool { watches.isEmpty }

  mutating func begin(_ reader: Int, patience: Duration, stepCount: UInt64, _ now: MonotonicInstant) {
    watches[reader] = Watch(patience: patience, stepCount: stepCount, since: now)
  }

  /// - Returns: what that changes
  mutating func end(_ reader: Int) -> Effect? {
    watches.removeValue(forKey: reader)?.isStuck == true ? .freed(reader) : nil
  }

  mutating func look(_ now: MonotonicInstant, stepCount: (_ reader: Int) -> UInt64?) -> [Effect] {
    var effects: [Effect] = []
    for reader in watches.keys.sorted() {
      guard let count = stepCount(reader), var watch = watches[reader] else { continue }
      let isWaiting = count % 2 == 1
      if isWaiting || count != watch.stepCount {
        if watch.isStuck { effects.append(.freed(reader)) }
        (watch.stepCount, watch.since, watch.isStuck) = (count, now, false)
      } else if !watch.isStuck, now - watch.since >= watch.patience {
        (watch.since, watch.isStuck) = (now, true)
        effects.append(.stuck(reader))
      }
      watches[reader] = watch
    }
    return effects
  }

  /// Whether a reader stays stuck although its supply was cut.
  func isHopeless(_ now: MonotonicInstant) -> Bool {
    watches.values.contains { $0.isStuck && now - $0.since >= SupervisorMachine.grace }
  }
}
