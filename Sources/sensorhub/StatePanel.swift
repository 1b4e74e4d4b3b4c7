import Fusion
import Glibc
import Guarding
import HardwareIO

/// The state on a terminal, redrawn in place. It is also redrawn when the terminal's size changes, because the next
/// state may arrive much later.
final class StatePanel: Sendable {
  private let view = Guarded(StateView())

  /// Create this before any other thread starts. Later threads inherit the blocked SIGWINCH, so that only the thread of
  /// this panel handles changes of the size.
  init() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGWINCH)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    // If no thread can be started, a new size takes effect only with the next state.
    _ = DetachedThread.start("terminal") { [weak self] in
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGWINCH)
      var number: Int32 = 0
      while sigwait(&signals, &number) == 0, let self { self.drawAgain() }
    }
  }

  /// Shows a state.
  ///
  /// - Returns: whether the output is still read
  func show(_ state: FusedState) -> Bool {
    view.withLock { Terminal.draw($0.frame(state, in: .ofStandardOutput)) }
  }

  /// Shows the devices' problems, also before the first state.
  ///
  /// - Returns: whether the output is still read
  func show(_ report: DevicesOfHub.Report, mark: String?) -> Bool {
    view.withLock { view in
      guard view.take(report, mark: mark), let frame = view.frame(in: .ofStandardOutput) else { return true }
      return Terminal.draw(frame)
    }
  }

  private func drawAgain() {
    view.withLock { view in
      if let frame = view.frame(in: .ofStandardOutput) { Terminal.draw(frame) }
    }
  }
}
