import FoundationEssentials
import HardwareIO
import TestSupport
import Testing

/// The help texts of the subcommands.
@Suite(.timeLimit(.minutes(10))) struct HelpTests {
  /// A command and its subcommands, as the program describes them to other programs.
  private struct Command: Decodable {
    var commandName: String
    var discussion: String?
    var subcommands: [Command]?

    /// This command and all commands below it, each with the words that call it.
    func all(after words: [String] = []) -> [(words: [String], discussion: String)] {
      let below = (subcommands ?? []).filter { $0.commandName != "help" }
      return [(words, discussion ?? "")] + below.flatMap { $0.all(after: words + [$0.commandName]) }
    }
  }

  private func allCommands() throws -> [(words: [String], discussion: String)] {
    struct Description: Decodable { var command: Command }
    let program = Program(["--experimental-dump-help"])
    #expect(program.wait() == 0)
    let description = try JSONDecoder().decode(Description.self, from: Data(program.standardOutput.utf8))
    return description.command.all()
  }

  /// The help of a command as on a terminal with 80 columns.
  private func help(of words: [String]) -> Program { Program(["help"] + words, environment: ["COLUMNS=80"]) }

  @Test func `examples and rows of tables are whole lines of the help on 80 columns`() throws {
    var count = 0
    for command in try allCommands() {
      let page = help(of: command.words)
      #expect(page.wait() == 0)
      let lines = Set(page.lines)
      for line in command.discussion.split(separator: "\n").map(String.init) {
        guard line.contains(": sensorhub ") || line.hasPrefix("Example: ") || line.contains("  ") else { continue }
        count += 1
        #expect(lines.contains(line), "\(command.words): \(line.count) columns")
      }
    }
    #expect(count > 40)
  }

  @Test func `no line of a help page is longer than 80 columns, and its usage breaks between options`() throws {
    for command in try allCommands() {
      let page = help(of: command.words)
      #expect(page.wait() == 0)
      for line in page.lines { #expect(line.count <= 80, "\(command.words): \(line)") }
    }
    let page = help(of: ["fence", "add"])
    #expect(page.wait() == 0)
    #expect(
      page.standardOutput.contains(
        "USAGE: sensorhub fence add <name> [--here <metres>] [--at <latitude,longitude>]\n       [--radius <metres>]"),
      "\(page.standardOutput)")
    let mistake = Program(["fence", "add"])
    #expect(mistake.wait() == 64)
    #expect(
      mistake.standardError.contains("[--at <latitude,longitude>]\n       [--radius"), "\(mistake.standardError)")
  }

  @Test(arguments: ["sensorhub.1", "sensorhub-board.5"])
  func `the manual pages can be read from the source folder`(_ name: String) throws {
    let text = String(decoding: try Files.bytes(of: "\(SharedData.packageFolder)/packaging/man/\(name)"), as: UTF8.self)
    let lines = text.split(separator: "\n")
    // Parts without content yet are comments.
    let unfilled = lines.filter { line in
      let between = line.split(separator: "@", omittingEmptySubsequences: false).dropFirst().dropLast()
      return !line.hasPrefix(".\\\"") && between.contains { !$0.isEmpty && $0.allSatisfy(\.isUppercase) }
    }
    #expect(unfilled.isEmpty)
    #expect(lines.first?.hasPrefix(".Dd ") == true && lines.first?.contains("20") == true)
  }

  @Test(arguments: [
    "run", "watch", "devices", "probe", "check", "decode", "fuse", "calibrate", "safe", "release", "chips", "record",
    "info",
    "export", "replay", "fleet", "verify",
  ])
  func `the help uses the full width of its lines`(_ command: String) {
    let program = Program([command, "--help"])
    #expect(program.wait() == 0)
    // In the discussion, the parser wraps the preceding line and writes the text after it.
    let lines = program.standardOutput.split(separator: "\n", omittingEmptySubsequences: false)
      .prefix { !$0.hasPrefix("USAGE:") }
    let paragraphs = lines.split(whereSeparator: \.isEmpty).filter { paragraph in
      // Examples and tables have lines of their own.
      !paragraph.contains { $0.hasPrefix("Example:") || $0.contains("  ") }
    }
    #expect(!paragraphs.isEmpty)
    for paragraph in paragraphs {
      for (line, next) in zip(paragraph, paragraph.dropFirst()) {
        let word = next.prefix { $0 != " " }
        #expect(line.count + 1 + word.count >= 78, "'\(word)' had room behind '\(line)'")
      }
    }
  }
}
