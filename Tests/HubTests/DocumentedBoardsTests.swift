import HardwareIO
import TestSupport
import Testing

@testable import Hub

/// The board files in the documents are valid.
struct DocumentedBoardsTests {
  /// A whole board file in a document.
  struct Example: Sendable, CustomTestStringConvertible {
    var document: String
    var line: Int
    var text: String
    var testDescription: String { "\(document):\(line)" }
  }

  /// All indented blocks that begin as a board file does. An example with an ellipsis is not a whole file.
  static let examples: [Example] = ["how-to", "reference", "explanation", "tutorial"].flatMap { folder in
    Files.names(in: "\(SharedData.packageFolder)/Documentation/\(folder)").filter { $0.hasSuffix(".md") }.flatMap {
      examples(in: "\(folder)/\($0)")
    }
  }

  private static func examples(in document: String) -> [Example] {
    let path = "\(SharedData.packageFolder)/Documentation/\(document)"
    let bytes = (try? Files.bytes(of: path, limit: 1 << 20)) ?? []
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    var examples: [Example] = []
    for (index, line) in lines.enumerated() where line == "    {" {
      let block = lines[index...].prefix { $0.hasPrefix("    ") }
      let text = block.map { $0.dropFirst(4) }.joined(separator: "\n")
      let isBoard = block.dropFirst().first?.hasPrefix("      name: ") == true
      guard isBoard, !text.contains("…") else { continue }
      examples.append(Example(document: document, line: index + 1, text: text))
    }
    return examples
  }

  @Test func `the documents have board files, among them one for each of the five days`() {
    #expect(Self.examples.count { $0.document == "how-to/five-days.md" } == 5)
    #expect(Self.examples.contains { $0.document == "reference/board-file.md" })
  }

  @Test(arguments: DocumentedBoardsTests.examples) func `a board file in a document is valid, and gives no warning`(
    _ example: Example
  ) throws {
    let mistakes = BoardMistakes(json5: Array(example.text.utf8), file: example.document)
    #expect(mistakes.all.isEmpty, "\(mistakes.all)")
    let board = try #require(mistakes.rest)
    let warnings =
      BoardWarnings.fences(of: board) + BoardWarnings.requests(of: board) + BoardWarnings.budgets(of: board)
      + BoardWarnings.battery(of: board) + BoardWarnings.sleep(of: board)
    #expect(warnings.isEmpty, "\(warnings)")
  }
}
