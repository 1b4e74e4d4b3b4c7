import Glibc
import Guarding
import TestSupport
import Testing

/// A terminal in which a command runs, with the screen that a user would see.
final class TerminalSession {
  private static let count = Guarded(0)
  private let name: String
  private let temporary = TemporaryFolder("terminal")
  private var isOpen = true

  /// - Parameter command: a shell command
  init(_ command: String, columns: Int = 120, rows: Int = 40) {
    let number = TerminalSession.count.withLock { count in
      count += 1
      return count
    }
    name = "sensorhub-\(getpid())-\(number)"
    // On a busy machine tmux sometimes gives up on the server that it has just started.
    let isThere = (0..<3).contains { _ in
      run(["new-session", "-d", "-s", name, "-x", "\(columns)", "-y", "\(rows)", command]).wait() == 0
    }
    #expect(isThere, "tmux opens no window")
    tmux(["pipe-pane", "-t", name, "cat >> '\(temporary.path)/output'"])
  }

  deinit { close() }

  /// The visible text.
  var screen: String { tmux(["capture-pane", "-p", "-t", name]) }

  /// The visible rows, from the top to the last one that is not empty.
  var rows: [String] {
    let rows = screen.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    return rows.lastIndex { !$0.isEmpty }.map { Array(rows[...$0]) } ?? []
  }

  /// Blocks until the visible rows meet a condition, which is checked again whenever a program has written to the
  /// terminal.
  func shows(_ isMet: (_ rows: [String]) -> Bool) -> Bool {
    FileChanges.wait(in: temporary.path) { isMet(rows) }
  }

  func resize(columns: Int, rows: Int) {
    tmux(["resize-window", "-t", name, "-x", "\(columns)", "-y", "\(rows)"])
  }

  func type(_ line: String) {
    tmux(["send-keys", "-t", name, "-l", line])
    tmux(["send-keys", "-t", name, "Enter"])
  }

  /// Closes the window, which hangs up on its processes.
  func close() {
    guard isOpen else { return }
    isOpen = false
    tmux(["kill-session", "-t", name])
  }

  @discardableResult
  private func tmux(_ arguments: [String]) -> String {
    let program = run(arguments)
    program.wait()
    return program.standardOutput
  }

  private func run(_ arguments: [String]) -> Program {
    // Use a separate tmux server. The server of the person who runs the tests has other settings, and the server of the
    // previous session may be ending.
    let own = ["-u", "-L", name, "-f", "/dev/null"]
    return Program(own + arguments, path: "/usr/bin/tmux", environment: ["TERM=xterm"])
  }
}
