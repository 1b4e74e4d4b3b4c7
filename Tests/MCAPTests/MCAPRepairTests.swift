import Glibc
import TestSupport
import Testing

@testable import MCAP

struct MCAPRepairTests {
  /// Reads a repaired file in every way that shows whether it is complete.
  private func reader(of bytes: [UInt8]) throws -> MCAPReader<MCAPBytes> {
    let reader = try MCAPReader(MCAPBytes(bytes))
    #expect(reader.isIndexed)
    #expect(reader.damage == nil)
    try reader.check()
    let count = UInt64(try messages(of: reader).count)
    #expect(reader.summary.statistics?.messageCount == count)
    #expect(try !MCAPRepair(of: MCAPBytes(bytes), isRecycled: false).isNeeded)
    let scan = try DataSectionScan(MCAPBytes(bytes), trust: .wholeRecords, limit: bytes.count)
    #expect(scan.summary.chunks == reader.summary.chunks, "the message indexes are as they should be")
    return reader
  }

  @Test func `a file that is cut at any byte keeps all messages before the cut`() throws {
    let recording = try MadeRecording()
    let ends = try recording.messageEnds()
    let whole = try MCAPReader(MCAPBytes(recording.bytes))
    for cut in 0...recording.bytes.count {
      let bytes = Array(recording.bytes[..<cut])
      let repair = try MCAPRepair(of: MCAPBytes(bytes), isRecycled: false)
      let reader = try reader(of: repair.applied(to: bytes))
      let expected = ends.count { $0 <= cut }
      #expect(try messages(of: reader, order: .file) == Array(recording.messages[..<expected]), "cut at \(cut)")
      #expect(repair.messageCount == UInt64(expected))
      #expect(repair.isNeeded == (cut < recording.bytes.count))
      #expect(repair.lostByteCount <= 400)
      let attachments = whole.summary.attachments.filter { $0.offset + $0.byteCount <= cut }
      #expect(reader.summary.attachments == attachments)
      #expect(reader.summary.metadata == whole.summary.metadata.filter { $0.offset + $0.byteCount <= cut })
    }
  }

  @Test func `zeros after the cut are not records`() throws {
    let recording = try MadeRecording()
    let ends = try recording.messageEnds()
    for cut in 0...recording.bytes.count {
      for zeros in [7, 5000] {
        let kept = recording.bytes[..<cut]
        // If the file ends where a message would, its zeros cannot be told from the message's own.
        if ends.contains(cut + zeros) { continue }
        let bytes = Array(kept) + [UInt8](repeating: 0, count: zeros)
        let repair = try MCAPRepair(of: MCAPBytes(bytes), isRecycled: false)
        let found = try messages(of: reader(of: repair.applied(to: bytes)), order: .file)
        // A message that itself ends in zeros may have been cut. All others must be found.
        let written = kept.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
        #expect(found.count >= ends.count { $0 <= written }, "cut at \(cut), \(zeros) zeros")
        #expect(found == Array(recording.messages[..<found.count]), "cut at \(cut), \(zeros) zeros")
      }
    }
  }

  @Test func `noise after the cut loses at most the chunk that was cut`() throws {
    let recording = try MadeRecording(messageCount: 40)
    let chunks = try MCAPReader(MCAPBytes(recording.bytes)).summary.chunks
    let ends = try recording.messageEnds()
    var random = SeededRandom()
    for cut in 60...recording.bytes.count {
      let noise = (0..<2000).map { _ in UInt8.random(in: 1...255, using: &random) }
      let bytes = Array(recording.bytes[..<cut]) + noise
      let repair = try MCAPRepair(of: MCAPBytes(bytes), isRecycled: false)
      let found = try messages(of: reader(of: repair.applied(to: bytes)), order: .file)
      let whole = chunks.last { $0.offset + $0.byteCount <= cut }.map { Int($0.offset + $0.byteCount) } ?? 0
      #expect(found.count >= ends.count { $0 <= whole }, "cut at \(cut)")
      #expect(found.prefix(ends.count) == recording.messages[..<min(found.count, ends.count)], "cut at \(cut)")
    }
  }

  /// Recordings whose chunks lie at the same offsets, one older than the other.
  private func segment(from start: UInt64, messageCount: Int) throws -> [UInt8] {
    var writer = try MCAPWriter(MCAPBytes(), chunkByteCount: 300)
    let channel = try writer.addChannel(topic: "/a", messageEncoding: "x")
    try writer.flush()
    for index in 0..<UInt64(messageCount) {
      try writer.append(
        [UInt8](repeating: UInt8(truncatingIfNeeded: start), count: 20), channelID: channel,
        logTimeNanoseconds: start + index)
    }
    try writer.finish()
    return writer.sink.bytes
  }

  @Test func `a recycled segment contains nothing of the older recording`() throws {
    let old = try segment(from: 100, messageCount: 40)
    for isShorter in [false, true] {
      let new = try segment(from: 1_000_007, messageCount: isShorter ? 30 : 40)
      let chunks = try MCAPReader(MCAPBytes(new)).summary.chunks.filter { !$0.channels.isEmpty }
      // Until the first chunk with messages is complete, the file may still count as the older recording.
      for cut in Int(chunks[0].offset + chunks[0].byteCount)...new.count {
        let bytes = new[..<cut] + old[min(cut, old.count)...]
        let repair = try MCAPRepair(of: MCAPBytes(Array(bytes)), isRecycled: true)
        let found = try messages(of: reader(of: repair.applied(to: Array(bytes))))
        let whole = chunks.filter { $0.offset + $0.byteCount <= cut }
        #expect(found.count == Int(whole.last?.endTimeNanoseconds ?? 0) - 1_000_006, "cut at \(cut)")
        #expect(found.first?.logTimeNanoseconds == 1_000_007)
      }
    }
  }

  @Test func `a recycled segment whose first chunk was torn has no messages`() throws {
    let old = try segment(from: 100, messageCount: 40)
    let new = try segment(from: 1_000_007, messageCount: 40)
    let chunk = try #require(try MCAPReader(MCAPBytes(new)).summary.chunks.first { !$0.channels.isEmpty })
    for cut in Int(chunk.offset) + 10..<Int(chunk.offset + chunk.byteCount) {
      let bytes = Array(new[..<cut] + old[cut...])
      let repair = try MCAPRepair(of: MCAPBytes(bytes), isRecycled: true)
      #expect(try messages(of: reader(of: repair.applied(to: bytes))).isEmpty, "cut at \(cut)")
    }
  }

  @Test func `a damaged chunk loses no other chunk if a valid one follows`() throws {
    let whole = try segment(from: 100, messageCount: 40)
    let chunks = try MCAPReader(MCAPBytes(whole)).summary.chunks
    let last = try #require(chunks.last)
    // The first chunk is left out because it contains the channel.
    for chunk in chunks.dropFirst().dropLast() {
      for place in [33, 60, Int(chunk.byteCount) - 1] {
        var bytes = Array(whole[..<Int(last.offset + last.byteCount + last.messageIndexByteCount)])
        bytes[Int(chunk.offset) + place] ^= 16
        let times = chunk.startTimeNanoseconds...chunk.endTimeNanoseconds
        let left = try messages(of: MCAPReader(MCAPBytes(whole))).filter { !times.contains($0.logTimeNanoseconds) }
        #expect(try messages(of: MCAPReader(MCAPBytes(bytes))) == left)
        let repair = try MCAPRepair(of: MCAPBytes(bytes), isRecycled: false)
        #expect(try messages(of: reader(of: repair.applied(to: bytes))) == left)
        #expect(repair.lostByteCount == chunk.byteCount + chunk.messageIndexByteCount)
      }
    }
  }

  @Test func `a complete file stays unchanged`() throws {
    let recording = try MadeRecording()
    for isRecycled in [false, true] {
      let bytes = isRecycled ? try segment(from: 1, messageCount: 30) : recording.bytes
      let repair = try MCAPRepair(of: MCAPBytes(bytes), isRecycled: isRecycled)
      #expect(!repair.isNeeded)
      #expect(repair.lostByteCount == 0)
      #expect(repair.applied(to: bytes) == bytes)
    }
  }

  @Test func `a damaged summary is written again, byte for byte the same`() throws {
    let recording = try MadeRecording()
    var bytes = recording.bytes
    bytes[bytes.count - 100] ^= 1
    let repair = try MCAPRepair(of: MCAPBytes(bytes), isRecycled: false)
    #expect(repair.isNeeded)
    #expect(repair.lostByteCount == 0)
    #expect(repair.applied(to: bytes) == recording.bytes)
  }

  @Test func `a file that is not an MCAP file, or has a damaged header, stays unchanged`() throws {
    #expect(throws: MCAPError.notMCAP) { try MCAPRepair(of: MCAPBytes(Array("text".utf8)), isRecycled: false) }
    #expect(throws: MCAPError.notMCAP) {
      try MCAPRepair(of: MCAPBytes(Array("a longer text, with lines".utf8)), isRecycled: true)
    }
    var bytes = try MadeRecording(messageCount: 200).bytes
    bytes[13] = 0xFF
    for isRecycled in [false, true] {
      #expect(throws: MCAPError.cut(offset: 8)) { try MCAPRepair(of: MCAPBytes(bytes), isRecycled: isRecycled) }
    }
  }

  @Test func `a chunk too large for the memory is an error, and is not dropped`() throws {
    let bytes = try MadeRecording(chunkByteCount: 2000, isFinished: false).bytes
    #expect(throws: MCAPError.self) {
      try MCAPRepair(of: MCAPBytes(bytes), isRecycled: false, memoryLimitByteCount: 400)
    }
  }

  @Test func `a file on a disk is repaired in place`() throws {
    let folder = TemporaryFolder("mcap")
    let recording = try MadeRecording()
    let ends = try recording.messageEnds()
    for cut in stride(from: 0, to: recording.bytes.count, by: 53) {
      // The appended bytes end before the zeros do, so the file becomes shorter.
      let path = try folder.write(recording.bytes[..<cut] + [UInt8](repeating: 0, count: 10_000), "\(cut).mcap")
      let repair = try MCAPRepair.repair(path: path, isRecycled: false)
      #expect(repair.isNeeded)
      let bytes = SharedData.read(path)
      #expect(bytes.count == Int(repair.keptByteCount) + repair.appendedBytes.count)
      let found = try messages(of: reader(of: bytes), order: .file)
      #expect(found == Array(recording.messages[..<found.count]))
      #expect(found.count >= ends.count { $0 <= cut } - 1)
      #expect(try !MCAPRepair.repair(path: path, isRecycled: false).isNeeded)
    }
    #expect(throws: MCAPError.system("opening \(folder.path)/none", errno: ENOENT)) {
      try MCAPRepair.repair(path: folder.path + "/none", isRecycled: false)
    }
  }

  @Test func `a power cut during the repair leaves a file that can be repaired`() throws {
    let recording = try MadeRecording()
    let chunk = try MCAPReader(MCAPBytes(recording.bytes)).summary.chunks[3]
    let bytes = Array(recording.bytes[..<Int(chunk.offset + chunk.byteCount - 40)])
    let repair = try MCAPRepair(of: MCAPBytes(bytes), isRecycled: false)
    let repaired = repair.applied(to: bytes)
    let expected = try messages(of: reader(of: repaired))
    // The repair is written up to a byte; after it the old contents remain, if there were any.
    for written in Int(chunk.offset + 49)...repaired.count {
      let torn = repaired[..<written] + bytes[min(written, bytes.count)...]
      let again = try MCAPRepair(of: MCAPBytes(Array(torn)), isRecycled: false)
      #expect(try messages(of: reader(of: again.applied(to: Array(torn)))) == expected, "\(written) written")
    }
  }
}
