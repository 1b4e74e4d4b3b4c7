import TestSupport
import Testing

@testable import MCAP

/// Reads damaged files. Any bytes must lead to a message or an error.
struct CorruptionTests {
  /// Performs every operation on a file.
  private func readAll(_ bytes: [UInt8]) {
    let source = MCAPBytes(bytes)
    for isRecycled in [false, true] {
      // A file with an end is not repaired.
      if let repair = try? MCAPRepair(of: source, isRecycled: isRecycled, memoryLimitByteCount: 1 << 20),
        repair.isNeeded
      {
        let repaired = MCAPBytes(repair.applied(to: bytes))
        #expect(throws: Never.self) { try MCAPReader(repaired).check() }
      }
    }
    guard let reader = try? MCAPReader(source, memoryLimitByteCount: 1 << 20) else { return }
    try? reader.check()
    for order in [MCAPOrder.logTime, .file] {
      var messages = reader.messages(order: order)
      // Each failure skips one chunk.
      for _ in 0..<reader.parts.count + 1 {
        do { while try messages.next() != nil {} } catch { continue }
        break
      }
    }
    for attachment in reader.summary.attachments { _ = try? reader.attachment(attachment) }
    for metadata in reader.summary.metadata { _ = try? reader.metadata(metadata) }
  }

  @Test func `a file with any byte changed is read without a crash`() throws {
    let recording = try MadeRecording(messageCount: 12)
    for index in recording.bytes.indices {
      for value in [0, 0xFF, recording.bytes[index] &+ 1] as [UInt8] {
        var bytes = recording.bytes
        bytes[index] = value
        readAll(bytes)
      }
    }
  }

  @Test func `a file with any length at any place is read without a crash`() throws {
    let recording = try MadeRecording(messageCount: 12)
    for index in 8..<recording.bytes.count - 8 {
      for value in [.max, (1 << 63) - 30, UInt64(recording.bytes.count)]
        as [UInt64]
      {
        var bytes = recording.bytes
        bytes.store(littleEndian: value, at: index)
        readAll(bytes)
      }
    }
  }

  /// The checksums are correct, so that the reader examines the wrong contents.
  @Test func `a summary with any content is read without a crash`() throws {
    let recording = try MadeRecording(messageCount: 12)
    let summaryStart =
      try #require(
        try DataSectionScan(MCAPBytes(recording.bytes), trust: .wholeRecords, limit: 1 << 20).dataEnd
      ).offset + 13
    var random = SeededRandom()
    for _ in 0..<1000 {
      var bytes = recording.bytes
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let index = Int.random(in: Int(summaryStart)..<bytes.count - 12, using: &random)
        bytes[index] = Bool.random(using: &random) ? .random(in: 0...255, using: &random) : 0xFF
      }
      bytes.store(
        littleEndian: CRC32.of(bytes, Int(summaryStart)..<bytes.count - 12), at: bytes.count - 12)
      readAll(bytes)
    }
  }

  @Test func `a chunk with any content is read without a crash`() throws {
    let recording = try MadeRecording(messageCount: 12, chunkByteCount: 1 << 20)
    let chunk = try #require(try MCAPReader(MCAPBytes(recording.bytes)).summary.chunks.first)
    let records = Int(chunk.offset) + 49..<Int(chunk.offset + chunk.byteCount)
    var random = SeededRandom()
    for _ in 0..<1000 {
      var bytes = recording.bytes
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let value: UInt8 = Bool.random(using: &random) ? .random(in: 0...255, using: &random) : 0xFF
        bytes[Int.random(in: records, using: &random)] = value
      }
      bytes.store(littleEndian: CRC32.of(bytes, records), at: Int(chunk.offset) + 33)
      readAll(bytes)
      readAll(Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random))))
    }
  }

  @Test func `random bytes are read without a crash`() throws {
    var random = SeededRandom()
    for _ in 0..<1000 {
      let noise = (0..<Int.random(in: 0...300, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      readAll(noise)
      var bytes = Layout.magic
      MCAPHeader().append(to: &bytes)
      readAll(bytes + noise)
      readAll(bytes + noise + Layout.magic)
    }
  }
}
