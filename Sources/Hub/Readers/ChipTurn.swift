import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// The turn at a chip: its reader's whenever that needs it, otherwise the watcher's, which makes the chip wait for
/// motion. They never have it at the same time.
final class ChipTurn: Sendable {
  private struct State {
    var isWanted = false
    var isWatched = false
    var isQuestioned = false
  }

  private let state = Guarded(State())
  /// For who watches: raised when the turn changes, and when there is a question.
  let news = WakeSignal()
  /// Sends when the reader returns the chip, before the watcher gets it.
  let returned = Subject<Void, Never>()
  /// For the reader: raised when who watched has let go, and when it has waited for too long.
  private let release = WakeSignal()
  /// Who watches lets go within this time, or hangs.
  private static let patience = Duration.seconds(2)

  /// The reader wants the chip. Returns once it has it, until `giveBack`; `false` where the reader was told to stop before.
  ///
  /// - Parameter clock: bounds the wait: who watches may hang in the kernel
  func take(_ poller: Poller, clock: any MonotonicTimeSource) throws(HardwareError) -> Bool {
    let deadline = clock.now + ChipTurn.patience
    state.withLock { $0.isWanted = true }
    news.raise()
    guard state.withLock({ $0.isWatched }) else { return true }
    let timer = clock.schedule(at: deadline) { [release] in release.raise() }
    defer { timer.cancel() }
    while state.withLock({ $0.isWatched }) {
      if poller.wait(for: release.fileDescriptor, atMost: ChipTurn.patience) == .stopped {
        wantNoLonger()
        return false
      }
      release.clear()
      if clock.now >= deadline, state.withLock({ $0.isWatched }) {
        wantNoLonger()
        throw .stuck("what waits for motion at the same chip")
      }
    }
    return true
  }

  func giveBack() {
    returned.send(())
    wantNoLonger()
  }

  private func wantNoLonger() {
    state.withLock { $0.isWanted = false }
    news.raise()
  }

  /// Has who watches ask the chip.
  func question() {
    state.withLock { $0.isQuestioned = true }
    news.raise()
  }

  /// Returns whether it is the watcher's turn, until `endWatch`.
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

  /// The watcher's next action.
  func takeNews() -> (mustEnd: Bool, isQuestioned: Bool) {
    news.clear()
    return state.withLock { state in
      defer { state.isQuestioned = false }
      return (state.isWanted, state.isQuestioned)
    }
  }
}
