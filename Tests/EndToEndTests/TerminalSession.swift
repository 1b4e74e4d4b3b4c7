import Glibc
import Guarding
import TestSupport

/// A terminal in which a command runs, as somebody has it who sits before it.
final class TerminalSession {
  private static let count = Guarded(0)
  private let name: String
  private var isOpen = true

  /// - Parameter command: for a shell
  init(_ command: String) {
    let number = TerminalSession.count.withLock { count in
      count += 1
      return count
    }
    name = "sensorhub-\(getpid())-\(number)"
    tmux(["new-session", "-d", "-s", name, "-x", "120", "-y", "40", command])
  }

  deinit { close() }

  /// What is to be seen.
  var screen: String { tmux(["capture-pane", "-p", "-t", name]) }

  func type(_ line: String) {
    tmux(["send-keys", "-t", name, "-l", line])
    tmux(["send-keys", "-t", name, "Enter"])
  }

  /// Closes the window: whoever has the terminal is hung up on.
  func close() {
    guard isOpen else { return }
    isOpen = false
    tmux(["kill-session", "-t", name])
  }

  @discardableResult
  private func tmux(_ arguments: [String]) -> String {
    // A server of its own: not within that of whoever runs the tests, nor set up as they like it, nor one that is just ending
    // with the session before.
    let own = ["-L", name, "-f", "/dev/null"]
    let program = Program(own + arguments, path: "/usr/bin/tmux", environment: ["TERM=xterm"])
    program.wait()
    return program.standardOutput
  }
}
