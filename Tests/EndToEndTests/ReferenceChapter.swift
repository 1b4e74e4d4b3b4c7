import HardwareIO
import TestSupport

/// The tables of a chapter in Documentation/reference.
struct ReferenceChapter {
  private let name: String
  private let lines: [Substring]

  init(_ name: String) throws {
    self.name = name
    let path = "\(SharedData.packageFolder)/Documentation/reference/\(name)"
    let text = String(decoding: try Files.bytes(of: path), as: UTF8.self)
    lines = text.split(separator: "\n", omittingEmptySubsequences: false)
  }

  /// The cells of each row below a heading, including the rows below its subheadings. An empty heading stands for the
  /// whole chapter.
  func rows(_ heading: String = "") -> [[String]] {
    section(heading).filter { $0.hasPrefix("| ") }.map { line in
      let cells = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
      return cells.map { ReferenceChapter.trimmed($0) }
    }
  }

  /// The names in code in the first column below a heading.
  func names(_ heading: String = "") -> Set<String> {
    Set(rows(heading).flatMap { ReferenceChapter.code($0.first ?? "") })
  }

  private func section(_ heading: String) -> [Substring] {
    if heading.isEmpty { return lines }
    let level = heading.prefix { $0 == "#" }.count
    let rest = lines.drop { $0 != heading }.dropFirst()
    return Array(
      rest.prefix { line in
        let depth = line.prefix { $0 == "#" }.count
        return depth == 0 || depth > level
      })
  }

  /// The texts between backquotes.
  static func code(_ cell: String) -> [String] {
    let parts = cell.split(separator: "`", omittingEmptySubsequences: false)
    return parts.enumerated().compactMap { index, part in index % 2 == 1 ? String(part) : nil }
  }

  private static func trimmed(_ cell: Substring) -> String {
    let start = cell.drop { $0 == " " }
    return String(start.reversed().drop { $0 == " " }.reversed())
  }
}
