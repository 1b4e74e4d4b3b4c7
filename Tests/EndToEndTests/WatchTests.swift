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
    let isComplete = terminal.shows { rows in
      if rows.first?.hasPrefix("mode          fused") == true { seen.insert(rows.joined(separator: "\n")) }
      return seen.count > 8
    }
    #expect(isComplete, "\(terminal.screen) \(hub.program.standardError)")
  }

  @Test func `each part of the state has its own row in a narrow terminal, and a low one shows how many it lacks`() {
    let terminals = [120, 60, 40, 20].map { watch(columns: $0, rows: 24) }
    for terminal in terminals {
      // All names are shown, and nothing is left of an earlier frame.
      #expect(terminal.shows { names($0) == WatchTests.names }, "\(terminal.screen)")
      waitUntilItHasMoved(terminal)
      #expect(terminal.shows { names($0) == WatchTests.names }, "\(terminal.screen)")
      terminal.close()
    }
    let low = watch(columns: 60, rows: 8)
    waitUntilItHasMoved(low)
    let shown = ["mode", "position", "altitude", "speed", "roll,", "heading", "…"]
    #expect(low.shows { names($0) == shown && $0.last == "… 3 more lines" }, "\(low.screen)")
    low.close()
    #expect(hub.stop() == 0)
  }

  @Test func `a resized terminal is redrawn at once, without a new state`() throws {
    let awake = hub.watch()
    // The next state would come in 100 s, so the first one must be complete.
    let isComplete = awake.prints { lines in
      guard let last = lines.last, last.contains("\"mode\":\"fused\"") else { return false }
      return ["position", "velocity", "attitude", "air", "supply", "fix"].allSatisfy { last.contains("\"\($0)\":{") }
    }
    #expect(isComplete, "\(awake.lines.last ?? "")")
    let terminal = watch("--rate 0.01", columns: 56, rows: 24)
    // The panel is compared once it is complete, and not while it is drawn: the last row is drawn last.
    #expect(terminal.shows { names($0) == WatchTests.names && terminal.rows == $0 }, "\(terminal.screen)")
    let narrow = terminal.rows
    try #require(narrow.count == WatchTests.names.count)
    #expect(!narrow[1].contains("ago"))
    terminal.resize(columns: 120, rows: 24)
    let isWide = terminal.shows { wide in
      wide.count == narrow.count && zip(wide, narrow).allSatisfy { $0.hasPrefix($1) }
        && wide[1].hasSuffix(" s ago)")
    }
    #expect(isWide, "\(terminal.screen)")
    // The terminal is resized again: from wide to narrow and from high to low.
    terminal.resize(columns: 56, rows: 24)
    #expect(terminal.shows { $0 == narrow }, "\(terminal.screen)")
    terminal.resize(columns: 56, rows: 6)
    #expect(terminal.shows { $0 == narrow[..<4] + ["… 5 more lines"] }, "\(terminal.screen)")
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
    let isComplete = terminal.shows { rows in
      expected.allSatisfy { line in rows.contains { $0.contains(line) } }
    }
    #expect(isComplete, "\(terminal.screen)")
    terminal.close()
    // The output is the same in a pipe, in one line.
    let piped = hub.watch([])
    let line = /N [0-9.]+ E ±\d+\.\d+ m .* roll [-+]\d+\.\d° pitch [-+]\d+\.\d° ±\d+\.\d+° heading \d{3}° ±\d+\.\d+°/
    #expect(
      piped.prints { $0.last?.contains(line) == true }, "\(piped.lines.last ?? "") \(piped.standardError)")
    piped.send(SIGINT)
    piped.wait()
    #expect(hub.stop() == 0)
  }
}
