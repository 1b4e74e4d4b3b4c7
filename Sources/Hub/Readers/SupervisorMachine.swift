import MonotonicTime

/// Decides which readers hang, by comparing their threads' stamps between two checks.
///
/// A thread may stay in its poller for the limit of its wait plus its patience. It may wait there for ever if its wait
/// has no limit, because a request to stop ends that wait.
///
/// The stamps, the lock and the timer belong to `Supervisor`. Time counts from the check that first saw a thread at its
/// present place. If the whole computer stood still, its readers therefore do not count as late.
struct SupervisorMachine: Sendable {
  enum Effect: Equatable, Sendable {
    /// The reader has exceeded its patience, and has failed.
    case stuck(Int)
    /// The reader was hanging, and continues now.
    case freed(Int)
  }

  private struct Watch {
    let patience: Duration
    /// The step count at the last check.
    var stepCount: UInt64
    /// When a check last saw progress. If the thread is stuck, when a check found that it is.
    var since: MonotonicInstant
    var isStuck = false
  }

  /// How long after the loss of its supply a reader may still hang before the process counts as hopeless.
  static let grace = Duration.seconds(10)

  /// If a check is later than this after the previous one, the whole process stood still, as in a debugger. Then no
  /// thread has waited too long.
  static let longestPause = Duration.seconds(3)

  private var watches: [Int: Watch] = [:]
  private var lastLook: MonotonicInstant?

  var isEmpty: Bool { watches.isEmpty }

  mutating func begin(_ reader: Int, patience: Duration, stepCount: UInt64, _ now: MonotonicInstant) {
    watches[reader] = Watch(patience: patience, stepCount: stepCount, since: now)
  }

  /// - Returns: the resulting action
  mutating func end(_ reader: Int) -> Effect? {
    watches.removeValue(forKey: reader)?.isStuck == true ? .freed(reader) : nil
  }

  /// - Parameters:
  ///   - stepCount: odd while the reader's thread waits in its poller; `nil` for an unknown thread
  ///   - waitLimit: the limit of its wait there; `nil` for no limit
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

  /// Whether a reader still hangs although its supply was cut.
  func isHopeless(_ now: MonotonicInstant) -> Bool {
    watches.values.contains { $0.isStuck && now - $0.since >= SupervisorMachine.grace }
  }
}
