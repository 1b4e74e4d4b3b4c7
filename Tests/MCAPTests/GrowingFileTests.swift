import MCAP
import Testing

/// A file that is read repeatedly while it is being written.
struct GrowingFileTests {
  /// Counts the bytes read from a file in memory.
  private final class CountedSource: MCAPSource {
    private let bytes: MCAPBytes
    private(set) var readByteCount = 0

    init(_ bytes: [UInt8]) { self.bytes = MCAPBytes(bytes) }

    var byteCount: UInt64 { bytes.byteCount }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(MCAPError) {
      readByteCount += buffer.count
      try bytes.read(at: offset, into: buffer)
    }
  }

  /// A file with chunks of about 1 kB and ten messages a second, every tenth of them on channel 2.
  private func file(messageCount: Int) throws -> [UInt8] {
    var writer = try MCAPWriter(MCAPBytes(), chunkByteCount: 1000)
    let first = try writer.addChannel(topic: "/often", messageEncoding: "json")
    let second = try writer.addChannel(topic: "/seldom", messageEncoding: "json")
    for index in 0..<messageCount {
      try writer.append(
        [UInt8](repeating: UInt8(index & 255), count: 90), channelID: index % 200 == 199 ? second : first,
        logTimeNanoseconds: UInt64(index) * 100_000_000)
    }
    try writer.finish()
    return writer.sink.bytes
  }

  /// The file as it is while being written: cut after a chunk or within one.
  private func cut(_ file: [UInt8], to share: Double) -> [UInt8] { Array(file.prefix(Int(Double(file.count) * share))) }

  private func times(_ reader: MCAPReader<CountedSource>, _ ids: Set<UInt16>? = nil) throws -> [UInt64] {
    var messages = reader.messages(channelIDs: ids)
    var times: [UInt64] = []
    while let message = try messages.next() { times.append(message.logTimeNanoseconds) }
    return times
  }

  @Test(arguments: [0.3, 0.31, 0.5, 0.55])
  func `only the new data of a growing file is scanned`(_ share: Double) throws {
    let whole = try file(messageCount: 2000)
    let before = try MCAPReader(CountedSource(cut(whole, to: share)))
    #expect(!before.isIndexed && before.scan != nil)
    let source = CountedSource(cut(whole, to: share + 0.1))
    let after = try MCAPReader(source, after: before.scan)
    #expect(source.readByteCount < whole.count / 5)
    let fresh = try MCAPReader(CountedSource(cut(whole, to: share + 0.1)))
    #expect(try times(after) == times(fresh))
    #expect(after.summary.statistics == fresh.summary.statistics)
    #expect(try times(after).count > times(before).count)
  }

  @Test func `a growing file that is completed is read by its index, without a further scan`() throws {
    let whole = try file(messageCount: 2000)
    let before = try MCAPReader(CountedSource(cut(whole, to: 0.5)))
    let after = try MCAPReader(CountedSource(whole), after: before.scan)
    #expect(after.isIndexed && after.scan == nil && after.damage == nil)
    #expect(try times(after).count == 2000)
  }

  @Test func `a file that has become shorter is scanned again`() throws {
    let whole = try file(messageCount: 2000)
    let before = try MCAPReader(CountedSource(cut(whole, to: 0.5)))
    let after = try MCAPReader(CountedSource(cut(whole, to: 0.2)), after: before.scan)
    #expect(try times(after) == times(MCAPReader(CountedSource(cut(whole, to: 0.2)))))
  }

  @Test func `chunks without a needed message are not read`() throws {
    let whole = try file(messageCount: 2000)
    let source = CountedSource(whole)
    let reader = try MCAPReader(source)
    let often = reader.summary.channelIDs(ofTopics: ["/often"])
    let begun = source.readByteCount
    var messages = reader.messages()
    messages.skip(often, beforeNanoseconds: 190_000_000_000)
    var seldom = 0
    var late = 0
    while let message = try messages.next() {
      if !often.contains(message.channelID) { seldom += 1 }
      if message.logTimeNanoseconds >= 190_000_000_000 { late += 1 }
    }
    // No message of the other channels is missing.
    #expect(seldom == 10 && late == 100)
    #expect(source.readByteCount - begun < whole.count / 5)
  }
}
