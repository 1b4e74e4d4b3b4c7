import HardwareIO
import TestSupport
import Testing

/// The initial inputs of the fuzzer, and those that once revealed a defect. None of them may cause a failure.
struct SeedTests {
  @Test(.timeLimit(.minutes(10)), arguments: FuzzTarget.allCases)
  func `the seeds of each fuzzing target are read without harm, as they are and cut off`(
    _ target: FuzzTarget
  ) throws {
    let folder = SharedData.packageFolder + "/Tests/Fuzzing/Corpora/\(target.rawValue)"
    let seeds = Files.names(in: folder)
    #expect(!seeds.isEmpty)
    for seed in seeds {
      let bytes = try Files.bytes(of: "\(folder)/\(seed)")
      bytes.withUnsafeBufferPointer { bytes in
        for part in 0...16 { target.run(UnsafeBufferPointer(rebasing: bytes[..<(bytes.count * part / 16)])) }
      }
    }
  }

  /// Fragments with a meaning in any of the formats that names are written into.
  private static let pieces = [
    "a", " ", "%", "%h", "\"", "'", "\\", "<", ">", "&", ";", "#", "=", "[", "]", "{{", "}}", "$", "`", "/", "..", "-",
    "\n",
    "\r", "\t", "\0", "\u{1b}", "\u{7f}", "\u{9b}", "\u{200d}", "\u{202e}", "\u{2028}", "\u{301}", "\u{600}",
    "\u{e000}",
    "\u{e0001}", "é", "🚀", "\u{fffe}", "\u{10ffff}",
  ]

  @Test(.timeLimit(.minutes(10))) func `names made of characters with special meanings are read back unchanged`() {
    var random = SeededRandom()
    for _ in 0..<20_000 {
      let count = Int.random(in: 0...12, using: &random)
      let name = (0..<count).map { _ in SeedTests.pieces.randomElement(using: &random) ?? "" }.joined()
      Array(name.utf8).withUnsafeBufferPointer { FuzzTarget.escapes.run($0) }
      let quoted = name.utf16.map { unit in
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
      let board = "{ name: 'x', record: { path: '/\(quoted.joined())' } }"
      Array(board.utf8).withUnsafeBufferPointer { FuzzTarget.dropins.run($0) }
    }
  }
}
