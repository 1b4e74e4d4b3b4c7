import Glibc
import TestSupport
import Testing

/// `watch` as a user sees it in a terminal.
@Suite(.serialized, .timeLimit(.minutes(10))) struct WatchTests {
  private let hub = HubProcess(["--no-journal-state"])

  private func watch(_ options: String = "", columns: Int, rows: Int) -> TerminalSession {
    TerminalSession("\(Program.sensorhub) watch \(options) --socket \(hub.socket)", columns: columns, rows: rows)
  }

  /// The rows of the built-in board's state, from the top.
  private static let names = [
    "mode", "position", "altitude", "speed", "roll,", "heading", "air", "supply", "fix",
  ]

  private func names(_ rows: [String]) -> [String] {
    rows.map { $0.split(separator: " ").first.map(String.init) ?? "" }
  }

  /// Waits until the panel has been redrawn some times.
  private func waitUntilItHasMoved(_ terminal: TerminalSession) {
    var seen: Set<String> = []
    let isComplete = eventually {
      let rows = terminal.rows
      if rows.first?.hasPrefix("mode          fused") == true { seen.insert(rows.joined(separator: "\n")) }
      return seen.count > 8
    }
    #expect(isComplete, "\(terminal.screen) \(hub.program.standardError)")
  }

  @Test(arguments: [120, 60, 40, 20])
  func `each part of the state has its own row, however narrow the terminal is`(_ columns: Int) {
    let terminal = watch(columns: columns, rows: 24)
    // All names are shown, and nothing is left of an earlier frame.
    #expect(eventually { names(terminal.rows) == WatchTests.names }, "\(terminal.screen)")
    waitUntilItHasMoved(terminal)
    #expect(eventually { names(terminal.rows) == WatchTests.names }, "\(terminal.screen)")
    terminal.close()
    #expect(hub.stop() == 0)
  }

  @Test func `a low terminal shows the first parts, and how many more there are`() {
    let terminal = watch(columns: 60, rows: 8)
    waitUntilItHasMoved(terminal)
    let shown = ["mode", "position", "altitude", "speed", "roll,", "heading", "…"]
    #expect(
      eventually { names(terminal.rows) == shown && terminal.rows.last == "… 3 more lines" }, "\(terminal.screen)")
    terminal.close()
    #expect(hub.stop() == 0)
  }

  @Test func `a resized terminal is redrawn at once, without a new state`() throws {
    let awake = hub.watch()
    // The next state would come in 100 s, so the first one must be complete.
    #expect(
      eventually {
        HubProcess.states(awake).last?.mode == "fused"
          && ["position", "velocity", "attitude", "air", "supply", "fix"].allSatisfy {
            awake.lines.last?.contains("\"\($0)\":{") == true
          }
      }, "\(awake.lines.last ?? "")")
    let terminal = watch("--rate 0.01", columns: 56, rows: 24)
    // The panel is compared once it is complete, and not while it is drawn.
    var narrow: [String] = []
    #expect(
      eventually {
        let before = narrow
        narrow = terminal.rows
        return names(narrow) == WatchTests.names && narrow == before
      }, "\(terminal.screen)")
    try #require(narrow.count == WatchTests.names.count)
    #expect(!narrow[1].contains("ago"))
    terminal.resize(columns: 120, rows: 24)
    let isWide = eventually {
      let wide = terminal.rows
      return wide.count == narrow.count && zip(wide, narrow).allSatisfy { $0.hasPrefix($1) }
        && wide[1].hasSuffix(" s ago)")
    }
    #expect(isWide, "\(terminal.screen)")
    // The terminal is resized again: from wide to narrow and from high to low.
    terminal.resize(columns: 56, rows: 24)
    #expect(eventually { terminal.rows == narrow }, "\(terminal.screen)")
    terminal.resize(columns: 56, rows: 6)
    #expect(eventually { terminal.rows == narrow[..<4] + ["… 5 more lines"] }, "\(terminal.screen)")
    terminal.close()
    awake.send(SIGINT)
    awake.wait()
    #expect(hub.stop() == 0)
  }

  @Test func `each measured value is followed by its error`() {
    let terminal = watch(columns: 120, rows: 24)
    let expected = [
      /^position      52\.\d{7} N 13\.\d{7} E ±\d+\.\d+ m  \(/,
      /^altitude      -?\d+\.\d m above sea level ±\d+\.\d+ m$/,
      /^roll, pitch   -?\d+\.\d°, -?\d+\.\d° ±\d+\.\d+°  \(/, /^heading       \d{3}° ±\d+\.\d+°$/,
    ]
    let isComplete = eventually {
      let rows = terminal.rows
      return expected.allSatisfy { line in rows.contains { $0.contains(line) } }
    }
    #expect(isComplete, "\(terminal.screen)")
    terminal.close()
    // The output is the same in a pipe, in one line.
    let piped = hub.watch([])
    let line = /N [0-9.]+ E ±\d+\.\d+ m .* roll [-+]\d+\.\d° pitch [-+]\d+\.\d° ±\d+\.\d+° heading \d{3}° ±\d+\.\d+°/
    #expect(
      eventually { piped.lines.contains { $0.contains(line) } }, "\(piped.lines.last ?? "") \(piped.standardError)")
    piped.send(SIGINT)
    piped.wait()
    #expect(hub.stop() == 0)
  }
}
