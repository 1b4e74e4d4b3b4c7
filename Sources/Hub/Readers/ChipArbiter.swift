import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// Arbitrates the use of a chip between its reader, which has priority, and the watcher, which makes the chip wait for
/// motion. They never use it at the same time.
final class ChipArbiter: Sendable {
  /// How a reader's use of the chip ends.
  enum ReadingEnd: Sendable {
    /// The reader was told to stop.
    case orderly
    /// The reader failed or hangs.
    case failed
  }

  private struct State {
    var isWanted = false
    var isWatched = false
    var isQuestioned = false
  }

  private let state = Guarded(State())
  /// The signal for the watcher: the reader requests or returns the chip, or a client asks about motion.
  let news = WakeSignal()
  /// Sends when the reader returns the chip, before the watcher gets it, and when the reader hangs.
  let readingEnds = Subject<ReadingEnd, Never>()
  /// The signal for the reader: the watcher has released the chip, or the reader has waited too long.
  private let release = WakeSignal()
  /// The time within which the watcher must release the chip. After it, the watcher counts as hanging.
  private static let patience = Duration.seconds(2)

  /// Waits until the reader has the chip. The reader keeps the chip until `giveBack`.
  ///
  /// - Parameter clock: limits the wait, because the watcher may hang in the kernel
  /// - Returns: `false` if the reader was told to stop first
  func take(_ poller: Poller, clock: any MonotonicTimeSource) throws(HardwareError) -> Bool {
    let deadline = clock.now + ChipArbiter.patience
    state.withLock { $0.isWanted = true }
    news.raise()
    guard state.withLock({ $0.isWatched }) else { return true }
    let timer = clock.schedule(at: deadline) { [release] in release.raise() }
    defer { timer.cancel() }
    while state.withLock({ $0.isWatched }) {
      if poller.wait(for: release.fileDescriptor, atMost: ChipArbiter.patience) == .stopped {
        wantNoLonger()
        return false
      }
      release.clear()
      if clock.now >= deadline, state.withLock({ $0.isWatched }) {
        wantNoLonger()
        throw .stuck("the motion monitor of the same chip")
      }
    }
    return true
  }

  func giveBack(after end: ReadingEnd) {
    readingEnds.send(end)
    wantNoLonger()
  }

  /// Reports, from another thread, that the reader hangs. It may still have the chip.
  func readerHangs() { readingEnds.send(.failed) }

  private func wantNoLonger() {
    state.withLock { $0.isWanted = false }
    news.raise()
  }

  /// Makes the watcher ask the chip about motion.
  func question() {
    state.withLock { $0.isQuestioned = true }
    news.raise()
  }

  /// Begins the watcher's use of the chip, until `endWatch`.
  ///
  /// - Returns: whether the watcher may use it
  func beginWatch() -> Bool {
    state.withLock { state in
      if state.isWanted { return false }
      (state.isWatched, state.isQuestioned) = (true, false)
      return true
    }
  }

  func endWatch() {
    state.withLock { $0.isWatched = false }
    release.raise()
  }

  /// Returns what the watcher must do next.
  func takeNews() -> (mustEnd: Bool, isQuestioned: Bool) {
    news.clear()
    return state.withLock { state in
      defer { state.isQuestioned = false }
      return (state.isWanted, state.isQuestioned)
    }
  }
}
