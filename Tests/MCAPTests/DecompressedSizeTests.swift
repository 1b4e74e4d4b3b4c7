import TestSupport
import Testing

@testable import MCAP

/// A file that is small on the disk and large in memory.
struct DecompressedSizeTests {
  @Test func `a file of a few kilobytes does not allocate hundreds of megabytes`() throws {
    var writer = try MCAPWriter(MCAPBytes([]), compression: .zstd())
    let channel = try writer.addChannel(topic: "/a", messageEncoding: "x")
    let zeros = [UInt8](repeating: 0, count: 48 << 20)
    try zeros.withUnsafeBytes { data throws in try writer.append(data, channelID: channel, logTimeNanoseconds: 1) }
    try writer.finish()
    let bytes = writer.sink.bytes
    #expect(bytes.count < 1 << 16)
    let reader = try MCAPReader(MCAPBytes(bytes))
    var messages = reader.messages()
    #expect(throws: MCAPError.self) { try messages.next() }
    // A file as large as its contents is read completely.
    #expect(MCAPBytes(bytes).memoryLimit(256 << 20) < 32 << 20)
    #expect(MCAPBytes([UInt8](repeating: 0, count: 2 << 20)).memoryLimit(256 << 20) == 256 << 20)
  }
}
