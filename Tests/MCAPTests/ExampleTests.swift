import Glibc
import MCAP
import TestSupport
import Testing

struct ExampleTests {
  @Test func `the example works as its text says, also after a power cut`() throws {
    let folder = TemporaryFolder("mcap")
    let path = folder.path + "/receiver.mcap"
    try record([["a", "b"], ["c"], ["d", "e"], ["f"]], to: path)
    #expect(try sentences(of: path, in: 1..<3) == ["c", "d", "e"])
    // This cuts off the end of the file and of the last chunk.
    #expect(truncate(path, 430) == 0)
    #expect(try sentences(of: path, in: 0..<10).starts(with: ["a", "b", "c"]))
  }

  @Test func `the documentation shows the example as it is compiled`() throws {
    let root = SharedData.packageFolder
    let page = String(decoding: SharedData.read("\(root)/Sources/MCAP/MCAP.docc/MCAP.md"), as: UTF8.self)
    let example = String(decoding: SharedData.read("\(root)/Tests/MCAPTests/Example.swift"), as: UTF8.self)
    #expect(page.contains("```swift\n\(example)```\n"))
  }
}
