import Testing

@testable import MCAP

struct MCAPWriterTests {
  @Test(arguments: [1, 40, 300, 1 << 20])
  func `written data is read back, whatever the size of the chunks`(chunkByteCount: Int) throws {
    let recording = try MadeRecording(messageCount: 100, chunkByteCount: chunkByteCount)
    let reader = try MCAPReader(MCAPBytes(recording.bytes))
    #expect(reader.isIndexed)
    #expect(try messages(of: reader, order: .file) == recording.messages)
    #expect(try messages(of: reader) == recording.sorted)
    #expect(reader.summary.statistics?.messageCount == 100)
    #expect(reader.summary.statistics?.chunkCount == UInt32(reader.summary.chunks.count))
    #expect(reader.summary.schemas.count == 2)
    #expect(reader.summary.channels.count == 3)
    try reader.check()
  }

  @Test func `a file without messages is valid`() throws {
    var writer = try MCAPWriter(MCAPBytes())
    try writer.finish()
    let reader = try MCAPReader(writer.sink)
    #expect(reader.isIndexed)
    #expect(try messages(of: reader).isEmpty)
    try reader.check()
  }

  @Test func `a channel without messages is in the summary`() throws {
    var writer = try MCAPWriter(MCAPBytes())
    _ = try writer.addChannel(topic: "/silent", messageEncoding: "json")
    try writer.finish()
    let reader = try MCAPReader(writer.sink)
    #expect(reader.summary.channels.values.map(\.topic) == ["/silent"])
    // The channel is in no chunk, because some readers reject chunks without messages.
    #expect(reader.summary.chunks.isEmpty)
    #expect(try DataSectionScan(writer.sink, trust: .wholeRecords, limit: 1000).summary.channels.count == 1)
    #expect(try messages(of: reader).isEmpty)
    try reader.check()
  }

  @Test func `a chunk is larger than its limit only if a single message is`() throws {
    var writer = try MCAPWriter(MCAPBytes(), chunkByteCount: 200)
    let channel = try writer.addChannel(topic: "/a", messageEncoding: "x")
    for size in [0, 10, 100, 200, 1000, 3, 150, 19, 20] {
      try writer.append([UInt8](repeating: 1, count: size), channelID: channel, logTimeNanoseconds: 1)
    }
    try writer.finish()
    let reader = try MCAPReader(writer.sink)
    for (index, part) in reader.parts.enumerated() where reader.summary.chunks[index].uncompressedByteCount > 200 {
      let chunk = try part.load(reader.source, limit: 2000)
      var records = chunk.sequence
      var count = 0
      while let record = try records.next() { count += record.opcode == Opcode.message ? 1 : 0 }
      #expect(count == 1)
    }
  }

  @Test func `exactly the flushed data has reached the sink`() throws {
    var writer = try MCAPWriter(MCAPBytes())
    let channel = try writer.addChannel(topic: "/a", messageEncoding: "x")
    try writer.append([1], channelID: channel, logTimeNanoseconds: 1)
    try writer.flush()
    let flushed = writer.byteCount
    #expect(writer.bufferedByteCount == 0)
    // Without new messages, nothing is written.
    try writer.flush()
    try writer.append([2], channelID: channel, logTimeNanoseconds: 2)
    #expect(writer.byteCount == flushed)
    #expect(writer.sink.bytes.count == Int(flushed))
    #expect(writer.bufferedByteCount == 32)
    #expect(writer.messageCount == 2)
    let reader = try MCAPReader(writer.sink)
    #expect(reader.damage == .cut(offset: flushed))
    #expect(try messages(of: reader).map(\.data) == [[1]])
  }

  @Test func `messages are counted per channel unless the caller counts them`() throws {
    var writer = try MCAPWriter(MCAPBytes())
    let first = try writer.addChannel(topic: "/a", messageEncoding: "x")
    let second = try writer.addChannel(topic: "/b", messageEncoding: "x")
    let counted: [(UInt16, UInt32?)] = [
      (first, nil), (second, nil), (first, nil), (first, 40), (first, nil), (first, .max),
    ]
    for (channel, sequence) in counted {
      try writer.append([], channelID: channel, logTimeNanoseconds: 1, sequence: sequence)
    }
    try writer.append([], channelID: first, logTimeNanoseconds: 1)
    try writer.finish()
    let found = try messages(of: MCAPReader(writer.sink), order: .file).map(\.sequence)
    #expect(found == [0, 0, 1, 40, 41, .max, 0])
  }

  /// A disk that is full at times.
  private struct FullDisk: MCAPSink {
    var bytes: [UInt8] = []
    var isFull = false

    mutating func append(_ more: UnsafeRawBufferPointer) throws(MCAPError) {
      if isFull { throw .system("writing", errno: 28) }
      bytes.append(contentsOf: more)
    }
  }

  @Test func `a sink that fails for a while loses nothing, and the buffer does not grow`() throws {
    var writer = try MCAPWriter(FullDisk(), chunkByteCount: 100)
    let channel = try writer.addChannel(topic: "/a", messageEncoding: "x")
    var taken: [UInt8] = []
    for number in 0..<100 as Range<UInt8> {
      writer.sink.isFull = (20..<60).contains(number)
      do throws(MCAPError) {
        try writer.append([number], channelID: channel, logTimeNanoseconds: UInt64(number))
        taken.append(number)
      } catch {
        #expect(error == .system("writing", errno: 28))
        #expect(throws: MCAPError.self) { try writer.flush() }
        #expect(throws: MCAPError.self) { try writer.finish() }
        #expect(throws: MCAPError.self) { try writer.add(MCAPMetadata(name: "", entries: [:])) }
      }
      #expect(writer.bufferedByteCount <= 100)
    }
    try writer.finish()
    #expect(taken.count >= 60)
    #expect(writer.messageCount == UInt64(taken.count))
    let reader = try MCAPReader(MCAPBytes(writer.sink.bytes))
    #expect(try messages(of: reader).map { Array($0.data) } == taken.map { [$0] })
    try reader.check()
  }

  @Test func `a missing schema or channel is refused`() throws {
    var writer = try MCAPWriter(MCAPBytes())
    #expect(throws: MCAPError.unknown("channel", id: 0)) { try writer.append([], channelID: 0, logTimeNanoseconds: 1) }
    #expect(throws: MCAPError.unknown("channel", id: 1)) { try writer.append([], channelID: 1, logTimeNanoseconds: 1) }
    #expect(throws: MCAPError.unknown("schema", id: 1)) {
      try writer.addChannel(topic: "", messageEncoding: "", schemaID: 1)
    }
    try writer.finish()
    let count = writer.byteCount
    try writer.finish()
    try writer.flush()
    #expect(writer.byteCount == count)
    #expect(throws: MCAPError.finished) { try writer.addChannel(topic: "", messageEncoding: "") }
    #expect(throws: MCAPError.finished) { try writer.add(MCAPMetadata(name: "", entries: [:])) }
  }

  @Test func `more channels than there are numbers for are refused`() throws {
    var writer = try MCAPWriter(MCAPBytes())
    for _ in 1...UInt16.max { _ = try writer.addChannel(topic: "", messageEncoding: "") }
    try writer.append([7], channelID: .max, logTimeNanoseconds: 1)
    #expect(throws: MCAPError.tooMany("channels")) { try writer.addChannel(topic: "", messageEncoding: "") }
    try writer.finish()
    #expect(try messages(of: MCAPReader(writer.sink)).map(\.channelID) == [.max])
  }
}
