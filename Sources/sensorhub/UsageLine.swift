/// The line of a help page or of an error message that shows how to call a command.
///
/// The parser wraps all other text, but leaves this line to the terminal, which breaks it inside words.
enum UsageLine {
  private static let headings = ["USAGE: ", "Usage: "]

  /// A help page or an error message, with its usage line broken between options if it is too long.
  static func wrapped(_ message: String, columns: Int = TerminalSize.ofStandardOutput.columns) -> String {
    let lines = message.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line in
      let isTooLong = line.count > columns && headings.contains { line.hasPrefix($0) }
      return isTooLong ? rows(of: line, columns) : [String(line)]
    }
    return lines.joined(separator: "\n")
  }

  private static func rows(of line: Substring, _ columns: Int) -> [String] {
    // Both headings are this long.
    let indentation = String(repeating: " ", count: 7)
    return parts(of: line).reduce(into: []) { rows, part in
      if let row = rows.last, row.count + 1 + part.count <= columns {
        rows[rows.count - 1] = "\(row) \(part)"
      } else {
        rows.append(rows.isEmpty ? part : indentation + part)
      }
    }
  }

  /// The words of a line. An option and its value are one part: `[--here <metres>]`, `--imu <file>`.
  private static func parts(of line: Substring) -> [String] {
    line.split(separator: " ").reduce(into: []) { parts, word in
      if let last = parts.last, isOpen(last) || (last.hasPrefix("-") && word.hasPrefix("<")) {
        parts[parts.count - 1] = "\(last) \(word)"
      } else {
        parts.append(String(word))
      }
    }
  }

  private static func isOpen(_ part: String) -> Bool {
    part.count { $0 == "[" } > part.count { $0 == "]" }
  }
}
