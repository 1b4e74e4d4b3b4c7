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

  @Test func `a track is readable as its text says, whether or not it is compressed`() throws {
    let folder = TemporaryFolder("mcap")
    let path = folder.path + "/track.mcap"
    let places = (0..<3).map {
      Place(latitudeDegrees: 52.5, longitudeDegrees: 13.25 + Double($0), nanoseconds: 1_500_000_000 * UInt64($0))
    }
    try write(places, to: path)
    let reader = try MCAPReader(path: path)
    try reader.check()
    #expect(reader.summary.schemas.values.map(\.name) == ["foxglove.LocationFix"])
    #expect(reader.summary.metadata.map(\.name) == ["track"])
    var messages = reader.messages()
    var texts: [String] = []
    while let message = try messages.next() { texts.append(String(decoding: message.data, as: UTF8.self)) }
    #expect(texts.count == 3)
    #expect(
      texts.last
        == "{\"timestamp\": {\"sec\": 3, \"nsec\": 0}, \"latitude\": 52.5, \"longitude\": 15.25}")
  }

  @Test func `the documentation shows the examples as they are compiled`() {
    let pages = LibraryPages(of: "MCAP")
    #expect(pages.shown == pages.compiled)
    #expect(pages.shown.count == 2)
  }
}
