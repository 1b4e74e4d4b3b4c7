import MonotonicTime

/// Decides which readers hang, by what their threads have stamped from one look to the next.
///
/// A thread that waits in its poller may be there for as long as it meant to, and as long as its patience on top of that. It may be
/// there for ever if nothing bounds its wait: it ends when it is told to.
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

  /// A look that comes later than this after the last one says that the whole process stood still, as in a debugger. Then no
  /// thread has waited for too long.
  static let longestPause = Duration.seconds(3)

  private var watches: [Int: Watch] = [:]
  private var lastLook: MonotonicInstant?

  var isEmpty: Bool { watches.isEmpty }

  mutating func begin(_ reader: Int, patience: Duration, stepCount: UInt64, _ now: MonotonicInstant) {
    watches[reader] = Watch(patience: patience, stepCount: stepCount, since: now)
  }

  /// - Returns: what that changes
  mutating func end(_ reader: Int) -> Effect? {
    watches.removeValue(forKey: reader)?.isStuck == true ? .freed(reader) : nil
  }

  /// - Parameters:
  ///   - stepCount: odd while the reader's thread waits in its poller; `nil` of an unknown one
  ///   - waitLimit: how long it waits there at most; `nil` for as long as it takes
  mutating func look(
    _ now: MonotonicInstant, waitLimit: (_ reader: Int) -> Duration? = { _ in nil },
    stepCount: (_ reader: Int) -> UInt64?
  ) -> [Effect] {
    var effects: [Effect] = []
    let stoodStill = lastLook.map { now - $0 > SupervisorMachine.longestPause } ?? false
    lastLook = now
    for reader in watches.keys.sorted() {
      guard let count = stepCount(reader), var watch = watches[reader] else { continue }
      let isWaiting = count % 2 == 1
      let patience = isWaiting ? waitLimit(reader).map { $0 + watch.patience } : watch.patience
      guard let patience, count == watch.stepCount, !(isWaiting && stoodStill) else {
        if watch.isStuck { effects.append(.freed(reader)) }
        (watch.stepCount, watch.since, watch.isStuck) = (count, now, false)
        watches[reader] = watch
        continue
      }
      guard !watch.isStuck, now - watch.since >= patience else { continue }
      (watch.since, watch.isStuck) = (now, true)
      watches[reader] = watch
      effects.append(.stuck(reader))
    }
    return effects
  }

  /// Whether a reader stays stuck although its supply was cut.
  func isHopeless(_ now: MonotonicInstant) -> Bool {
    watches.values.contains { $0.isStuck && now - $0.since >= SupervisorMachine.grace }
  }
}
