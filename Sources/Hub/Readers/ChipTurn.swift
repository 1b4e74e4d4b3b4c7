import Guarding
import HardwareIO
import Publishing

/// Whose turn it is at a chip: its reader's, as soon as that wants it, and else that of who has it wait for motion. Never both's.
final class ChipTurn: Sendable {
  private struct State {
    var isWanted = false
    var isWatched = false
    var isQuestioned = false
  }

  private let state = Guarded(State())
  /// For who watches: raised when the turn changes, and when there is a question.
  let news = WakeSignal()
  /// Sends as the reader gives the chip back, before anybody else has it.
  let returned = Subject<Void, Never>()
  /// For the reader: raised when who watched has let go.
  private let release = WakeSignal()

  /// The reader wants the chip. Returns once it has it, until `giveBack`; `false` where the reader was told to stop before.
  func take(_ poller: Poller) -> Bool {
    state.withLock { $0.isWanted = true }
    news.raise()
    while state.withLock({ $0.isWatched }) {
      if poller.wait(for: release.fileDescriptor) == .stopped {
        wantNoLonger()
        return false
      }
      release.clear()
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

  /// Returns whether it is the turn of who watches, until `endWatch`.
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

  /// What is to be done by who watches.
  func takeNews() -> (mustEnd: Bool, isQuestioned: Bool) {
    news.clear()
    return state.withLock { state in
      defer { state.isQuestioned = false }
      return (state.isWanted, state.isQuestioned)
    }
  }
}
