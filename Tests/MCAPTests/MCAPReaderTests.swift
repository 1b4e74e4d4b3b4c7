import Guarding
import TestSupport
import Testing

@testable import MCAP

struct MCAPReaderTests {
  /// Counts the bytes that are read.
  private final class CountingSource: MCAPSource {
    private let file: MCAPBytes
    private let count = Guarded(0)

    init(_ bytes: [UInt8]) { file = MCAPBytes(bytes) }

    var byteCount: UInt64 { file.byteCount }
    var readByteCount: Int { count.withLock { $0 } }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(MCAPError) {
      count.withLock { $0 += buffer.count }
      try file.read(at: offset, into: buffer)
    }
  }

  @Test func `a time range includes its start and excludes its end`() throws {
    let recording = try MadeRecording(messageCount: 60)
    let reader = try MCAPReader(MCAPBytes(recording.bytes))
    let start = recording.messages[0].logTimeNanoseconds
    for from in stride(from: start, to: start + 600, by: 45) {
      for to in stride(from: from, to: start + 700, by: 85) {
        let expected = recording.sorted.filter { $0.logTimeNanoseconds >= from && $0.logTimeNanoseconds < to }
        #expect(try messages(of: reader, in: from..<to) == expected)
      }
    }
  }

  @Test func `only the requested channels are read, in both orders`() throws {
    let recording = try MadeRecording(messageCount: 60)
    let reader = try MCAPReader(MCAPBytes(recording.bytes))
    let wanted = reader.summary.channelIDs(ofTopics: ["/raw", "/events"])
    #expect(wanted == [2, 3])
    let isWanted = { (message: MCAPMessage) in wanted.contains(message.channelID) }
    #expect(try messages(of: reader, channelIDs: wanted) == recording.sorted.filter(isWanted))
    #expect(
      try messages(of: reader, channelIDs: wanted, order: .file) == recording.messages.filter(isWanted))
    #expect(try messages(of: reader, channelIDs: []).isEmpty)
  }

  @Test func `chunks that cannot contain a requested message are not read`() throws {
    var writer = try MCAPWriter(MCAPBytes(), chunkByteCount: 10_000)
    let often = try writer.addChannel(topic: "/often", messageEncoding: "x")
    let rare = try writer.addChannel(topic: "/rare", messageEncoding: "x")
    for index in 0..<1000 as Range<UInt64> {
      try writer.append([UInt8](repeating: 1, count: 969), channelID: often, logTimeNanoseconds: index)
      if index == 500 { try writer.append([5], channelID: rare, logTimeNanoseconds: index) }
    }
    try writer.finish()
    let source = CountingSource(writer.sink.bytes)
    let reader = try MCAPReader(source)
    let before = source.readByteCount
    // Only the footer, the summary and the header are read.
    #expect(before < 20_000)
    #expect(try messages(of: reader, in: 300..<305).count == 5)
    #expect(source.readByteCount - before < 25_000)
    #expect(try messages(of: reader, channelIDs: [rare]).count == 1)
    #expect(source.readByteCount - before < 40_000)
    #expect(try messages(of: reader, in: 2000..<3000).isEmpty)
    #expect(source.readByteCount - before < 40_000)
  }

  @Test func `overlapping chunks are in memory together, up to the limit`() throws {
    var writer = try MCAPWriter(MCAPBytes(), chunkByteCount: 1000)
    let channel = try writer.addChannel(topic: "/a", messageEncoding: "x")
    // Every chunk spans the recording from start to end.
    for index in 0..<1000 as Range<UInt64> {
      try writer.append([], channelID: channel, logTimeNanoseconds: index * 7919 % 1000)
    }
    try writer.finish()
    let reader = try MCAPReader(writer.sink)
    #expect(try messages(of: reader).map(\.logTimeNanoseconds) == Array(0..<1000))
    let small = try MCAPReader(writer.sink, memoryLimitByteCount: 10_000)
    #expect(throws: MCAPError.self) { try messages(of: small) }
    #expect(try messages(of: small, order: .file).count == 1000)
  }

  /// A malicious file of 100,000 chunks with the same time. Looking through all chunks for each message would take many
  /// minutes.
  @Test(.timeLimit(.minutes(5))) func `any number of chunks may overlap`() throws {
    var writer = try MCAPWriter(MCAPBytes(), chunkByteCount: 1)
    let channel = try writer.addChannel(topic: "/a", messageEncoding: "x")
    for _ in 0..<100_000 { try writer.append([], channelID: channel, logTimeNanoseconds: 5) }
    try writer.finish()
    #expect(try messages(of: MCAPReader(writer.sink)).map(\.sequence) == Array(0..<100_000))
  }

  @Test func `messages with the same time keep the order of the file`() throws {
    var writer = try MCAPWriter(MCAPBytes(), chunkByteCount: 100)
    let channel = try writer.addChannel(topic: "/a", messageEncoding: "x")
    for _ in 0..<50 { try writer.append([], channelID: channel, logTimeNanoseconds: 5) }
    try writer.finish()
    #expect(try messages(of: MCAPReader(writer.sink)).map(\.sequence) == Array(0..<50))
  }

  @Test func `a file without a summary is scanned completely`() throws {
    let recording = try MadeRecording(messageCount: 60)
    let data = try #require(
      try DataSectionScan(MCAPBytes(recording.bytes), trust: .wholeRecords, limit: 1 << 20).dataEnd)
    // The specification's smallest writers write no summary, and a footer that says so.
    var bytes = Array(recording.bytes[..<Int(data.offset + 13)])
    bytes.append(Opcode.footer)
    bytes.append(littleEndian: UInt64(Layout.footerByteCount))
    bytes.append(contentsOf: repeatElement(0, count: Layout.footerByteCount))
    bytes.append(contentsOf: Layout.magic)
    let reader = try MCAPReader(MCAPBytes(bytes))
    #expect(!reader.isIndexed)
    #expect(reader.damage == nil)
    #expect(try messages(of: reader) == recording.sorted)
    #expect(reader.summary == (try MCAPReader(MCAPBytes(recording.bytes)).summary))
    try reader.check()
    #expect(try !MCAPRepair(of: MCAPBytes(bytes), isRecycled: false).isNeeded)
  }

  /// Messages directly in the data section, with unknown records and index records between them.
  private static func unchunked(_ recording: MadeRecording) throws -> [UInt8] {
    let reader = try MCAPReader(MCAPBytes(recording.bytes))
    var bytes = Layout.magic
    reader.header.append(to: &bytes)
    for part in reader.parts {
      let chunk = try part.load(reader.source, limit: 1 << 20)
      bytes += chunk.bytes[chunk.records]
      let unknown = bytes.beginRecord(0x80)
      bytes += [1, 2, 3]
      bytes.endRecord(unknown)
    }
    return bytes
  }

  @Test func `messages outside of chunks are read, and records of unknown kinds are skipped`() throws {
    let recording = try MadeRecording(messageCount: 60)
    let bytes = try MCAPReaderTests.unchunked(recording)
    let cut = try MCAPReader(MCAPBytes(bytes))
    #expect(cut.damage == .cut(offset: UInt64(bytes.count)))
    #expect(try messages(of: cut) == recording.sorted)
    #expect(try messages(of: cut, order: .file) == recording.messages)
    let repaired = try MCAPRepair(of: MCAPBytes(bytes), isRecycled: false).applied(to: bytes)
    let reader = try MCAPReader(MCAPBytes(repaired))
    #expect(reader.damage == nil)
    #expect(try messages(of: reader) == recording.sorted)
    #expect(reader.summary.statistics?.messageCount == 60)
    try reader.check()
  }

  @Test func `a damaged chunk is an error, and reading continues after it`() throws {
    let recording = try MadeRecording(messageCount: 60)
    var bytes = recording.bytes
    let chunks = try MCAPReader(MCAPBytes(bytes)).summary.chunks
    let damaged = chunks[2]
    bytes[Int(damaged.offset + damaged.byteCount) - 1] ^= 1
    let reader = try MCAPReader(MCAPBytes(bytes))
    var cursor = reader.messages(order: .file)
    var found: [MCAPMessage] = []
    var errors: [MCAPError] = []
    while true {
      do {
        guard let message = try cursor.next() else { break }
        found.append(message)
      } catch {
        errors.append(error)
      }
    }
    #expect(errors == [.wrongChecksum("chunk", offset: damaged.offset)])
    #expect(found.count < 60 && found.count > 40)
    #expect(found.allSatisfy { recording.messages.contains($0) })
    #expect(throws: MCAPError.wrongChecksum("chunk", offset: damaged.offset)) { try reader.check() }
  }

  @Test func `a damaged summary, attachment or index is noticed`() throws {
    let recording = try MadeRecording()
    let whole = try MCAPReader(MCAPBytes(recording.bytes))
    var bytes = recording.bytes
    bytes[bytes.count - 60] ^= 1
    let reader = try MCAPReader(MCAPBytes(bytes))
    #expect(!reader.isIndexed)
    guard case .wrongChecksum("summary", _) = reader.damage else {
      Issue.record("\(String(describing: reader.damage))")
      return
    }
    #expect(try messages(of: reader) == recording.sorted)

    bytes = recording.bytes
    let attachment = whole.summary.attachments[0]
    bytes[Int(attachment.offset + attachment.byteCount) - 6] ^= 1
    let other = try MCAPReader(MCAPBytes(bytes))
    #expect(throws: MCAPError.wrongChecksum("attachment", offset: attachment.offset)) {
      try other.attachment(attachment)
    }
    // A message index has no checksum of its own. Only the checksum of the data section covers it.
    bytes = recording.bytes
    bytes[Int(whole.summary.chunks[1].channels[0].offset) + 20] ^= 1
    let indexed = try MCAPReader(MCAPBytes(bytes))
    #expect(throws: MCAPError.self) { try indexed.check() }
  }

  @Test func `attachments and metadata are found by their index`() throws {
    let recording = try MadeRecording()
    let reader = try MCAPReader(MCAPBytes(recording.bytes))
    #expect(reader.summary.attachments.map(\.name) == ["calibration.json"])
    #expect(try reader.attachment(reader.summary.attachments[0]).data == [1, 2, 3, 0, 0])
    #expect(reader.summary.metadata.map(\.name) == ["board"])
    #expect(try reader.metadata(reader.summary.metadata[0]).entries == ["name": "pi", "empty": ""])
    // An index that points to another record.
    var wrong = reader.summary.attachments[0]
    wrong.offset = reader.summary.metadata[0].offset
    #expect(throws: MCAPError.self) { try reader.attachment(wrong) }
    wrong.offset = .max
    #expect(throws: MCAPError.self) { try reader.attachment(wrong) }
  }

  @Test(arguments: ["", "\u{89}", "MCAP", "{\"json\": true, \"and\": \"longer than a footer and two magics\"}"])
  func `a file that is not an MCAP file is reported as such`(text: String) {
    #expect(throws: MCAPError.self) { try MCAPReader(MCAPBytes(Array(text.utf8))) }
  }

  /// A file of more than a terabyte that consists almost entirely of one record of an unknown kind.
  private struct HugeSource: MCAPSource {
    var head: [UInt8]
    var gapByteCount: UInt64
    var tail: [UInt8]

    var byteCount: UInt64 { UInt64(head.count) + gapByteCount + UInt64(tail.count) }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(MCAPError) {
      let tailStart = UInt64(head.count) + gapByteCount
      for index in 0..<buffer.count {
        let place = offset + UInt64(index)
        buffer[index] =
          place < head.count ? head[Int(place)] : place < tailStart ? 0 : tail[Int(place - tailStart)]
      }
    }
  }

  @Test func `a file may be larger than the memory`() throws {
    let recording = try MadeRecording()
    let headCount = Layout.magic.count + 9 + 8 + "SensorHub MCAP".utf8.count
    var head = Array(recording.bytes[..<headCount])
    head.append(0x90)
    head.append(littleEndian: UInt64(1 << 40))
    let source = HugeSource(head: head, gapByteCount: 1 << 40, tail: Array(recording.bytes[headCount...]))
    // The offsets in the summary are wrong, but the chunks are intact.
    let reader = try MCAPReader(source)
    #expect(!reader.isIndexed)
    #expect(try messages(of: reader) == recording.sorted)
    #expect(reader.summary.chunks.allSatisfy { $0.offset > 1 << 40 })
  }

  @Test func `a file on a disk is read without loading all of it`() throws {
    let folder = TemporaryFolder("mcap")
    let path = folder.path + "/a.mcap"
    var writer = try MCAPWriter(MCAPFileSink(path: path))
    let channel = try writer.addChannel(topic: "/a", messageEncoding: "x")
    for index in 0..<1000 as Range<UInt64> { try writer.append([1], channelID: channel, logTimeNanoseconds: index) }
    try writer.finish()
    try writer.sink.synchronize()
    let reader = try MCAPReader(path: path)
    #expect(try messages(of: reader).map(\.logTimeNanoseconds) == Array(0..<1000))
    #expect(throws: MCAPError.system("opening \(folder.path)/b.mcap", errno: 2)) {
      try MCAPReader(path: folder.path + "/b.mcap")
    }
    #expect(throws: MCAPError.self) { try MCAPReader(path: folder.path) }
  }
}
