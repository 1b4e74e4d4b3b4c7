import HardwareIO

/// The examples of a library's documentation catalogue (`Sources/NMEA/NMEA.docc`) and the files of its tests that the
/// compiler checks (`Tests/NMEATests/Examples`). Both must be the same: a page shows only what compiles.
public struct LibraryPages {
  /// The Swift code that the pages show, in order of its text.
  public let shown: [String]
  /// The contents of the compiled files, in order of their text.
  public let compiled: [String]

  public init(of library: String) {
    let root = SharedData.packageFolder
    func texts(_ folder: String, _ ending: String) -> [String] {
      Files.names(in: folder).filter { $0.hasSuffix(ending) }
        .map { String(decoding: SharedData.read("\(folder)/\($0)"), as: UTF8.self) }
    }
    shown = texts("\(root)/Sources/\(library)/\(library).docc", ".md").flatMap(LibraryPages.swiftCode).sorted()
    compiled = texts("\(root)/Tests/\(library)Tests/Examples", ".swift").sorted()
  }

  /// The blocks of a page that begin with ```` ```swift ````.
  static func swiftCode(_ page: String) -> [String] {
    var blocks: [String] = []
    var block: String?
    for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
      if block == nil {
        if line == "```swift" { block = "" }
      } else if line == "```" {
        blocks.append(block ?? "")
        block = nil
      } else {
        block?.append("\(line)\n")
      }
    }
    // A block without an end is shown too, and then equals no file.
    return blocks + (block.map { [$0] } ?? [])
  }
}
