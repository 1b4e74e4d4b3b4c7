import Glibc
import TestSupport
import Testing

/// The unit's drop-in for a board file.
@Suite(.timeLimit(.minutes(10))) struct DropInTests {
  private let temporary = TemporaryFolder("drop-in")
  private var folder: String { temporary.path }

  private func check(_ path: String, _ options: [String]) -> Program {
    let file = folder + "/board.json5"
    var quoted = ""
    for unit in path.utf16 {
      let digits = String(unit, radix: 16)
      quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
    HubProcess.write("{ name: \"test\",\n  record: { path: \"\(quoted)\" } }", to: file)
    let program = Program(["check", file] + options)
    program.wait()
    return program
  }

  @Test func `a board file cannot add a command or a second path to the service`() {
    for path in ["/var/lib/x\nExecStartPre=+/bin/touch /tmp/owned", "/var/lib/x\r", "/a\u{85}b", "/a\u{0}"] {
      for options in [[], ["--device-policy"]] {
        let program = check(path, options)
        #expect(program.wait() == 65, "\(program.standardOutput)")
        #expect(program.standardOutput.isEmpty)
        #expect(
          program.standardError.contains("board.json5:2: 'record.path' must be a text without control characters"),
          "\(program.standardError)")
      }
    }
    #expect(check("/var/lib/a b/%h", ["--device-policy"]).lines.last == "ReadWritePaths=\"-/var/lib/a b/%%h\"")
    // The command says what it will write before it does.
    let said = check("/var/lib/a b/%h", [])
    #expect(said.standardOutput.contains("\n    ReadWritePaths=\"-/var/lib/a b/%%h\"\n"), "\(said.standardOutput)")
    for path in ["/", "/var/../etc"] {
      #expect(!check(path, ["--device-policy"]).standardOutput.contains("ReadWritePaths"))
      #expect(check(path, []).standardError.contains("'record.path' must be a folder below the root"))
    }
  }

  @Test func `systemd reads any path of a board file as one path`() {
    var random = SeededRandom()
    let pieces = [
      "a", " ", "  ", "%h", "%%", "%", "\"", "'", "\\", "\\\\", "\\n", "\\x41", "$HOME", "${x}", ";", "#", "=", "-",
      "+", ":", "/",
      "é", "\u{301}", "\u{200D}", "\u{202E}", "🚀", "]", "[Service]", "ExecStart=/x", ",", "*", "~", "|", "&",
    ]
    let unit = folder + "/hub.service"
    HubProcess.write("[Service]\nExecStart=/bin/true\n", to: unit)
    mkdir(unit + ".d", 0o755)
    for _ in 0..<40 {
      let path =
        "/v"
        + (0..<Int.random(in: 1...8, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
      let policy = check(path, ["--device-policy"])
      #expect(policy.wait() == 0, "\(path): \(policy.standardError)")
      let settings = policy.lines.filter { !$0.hasPrefix("#") }
      #expect(settings.count == 2 && settings.first == "[Service]", "\(path): \(policy.standardOutput)")
      let prefix = "ReadWritePaths="
      guard let setting = settings.last, setting.hasPrefix(prefix) else {
        Issue.record("no path: \(policy.standardOutput)")
        continue
      }
      #expect(DropInTests.words(setting.dropFirst(prefix.count)) == ["-" + path], "\(setting)")
      HubProcess.write(policy.standardOutput, to: unit + ".d/board.conf")
      let verdict = Program(
        ["verify", unit], path: "/usr/bin/systemd-analyze", environment: ["SYSTEMD_UNIT_PATH=\(folder):"])
      #expect(
        verdict.wait() == 0 && !verdict.standardError.contains("board.conf"), "\(setting): \(verdict.standardError)")
    }
  }

  /// Splits a setting into words by the rules of systemd.syntax(7), including specifiers.
  private static func words(_ setting: Substring) -> [String] {
    var words: [String] = []
    var word: String?
    var (quote, isEscaped): (Unicode.Scalar?, Bool) = (nil, false)
    var percents = 0
    for scalar in setting.unicodeScalars {
      if isEscaped {
        word = (word ?? "") + String(scalar)
        isEscaped = false
      } else if scalar == "\\" {
        isEscaped = true
      } else if scalar == quote {
        quote = nil
      } else if quote == nil, scalar == "\"" || scalar == "'" {
        (quote, word) = (scalar, word ?? "")
      } else if quote == nil, scalar == " " || scalar == "\t" {
        if let word { words.append(word) }
        word = nil
      } else {
        percents = scalar == "%" ? percents + 1 : 0
        // This is the second of two percent signs.
        if percents == 2 { percents = 0 } else { word = (word ?? "") + String(scalar) }
      }
    }
    return words + [word].compactMap { $0 }
  }
}
