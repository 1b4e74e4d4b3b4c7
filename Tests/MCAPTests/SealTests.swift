import TestSupport
import Testing

@testable import MCAP

/// Files aligned to blocks, possibly written over older files.
struct SealTests {
  private struct Recording {
    var bytes: [UInt8] = []
    /// The size of the file after each piece, and the number of messages up to there.
    var pieces: [(end: Int, messageCount: Int)] = []
    var messages: [MCAPMessage] = []
  }

  /// Recordings whose chunks lie at the same offsets.
  private func recording(
    from start: UInt64, messageCount: Int, identity: UInt64, isFinished: Bool = true
  ) throws -> Recording {
    var recording = Recording()
    var writer = try MCAPWriter(MCAPBytes(), blocks: MCAPBlocks(byteCount: 256, identity: identity))
    recording.pieces.append((writer.sink.bytes.count, 0))
    let channel = try writer.addChannel(topic: "/a", messageEncoding: "x")
    for index in 0..<messageCount {
      let message = MCAPMessage(
        channelID: channel, sequence: UInt32(index), logTimeNanoseconds: start + UInt64(index),
        publishTimeNanoseconds: 0, data: [UInt8](repeating: UInt8(truncatingIfNeeded: identity), count: 20)[...])
      try writer.append(message)
      recording.messages.append(message)
      guard index % 7 == 6 else { continue }
      try writer.flush()
      recording.pieces.append((writer.sink.bytes.count, index + 1))
    }
    if isFinished { try writer.finish() }
    recording.bytes = writer.sink.bytes
    return recording
  }

  /// The old file without its end, which would identify it as complete.
  private func overwritten(_ old: Recording) -> [UInt8] { Array(old.bytes[..<((old.bytes.count - 1) / 256 * 256)]) }

  @Test(arguments: [true, false])
  func `a recording written over an older one gives only its own messages, wherever it is cut`(
    _ isOldFromFuture: Bool
  ) throws {
    let old = try recording(from: isOldFromFuture ? 2_000_000 : 100, messageCount: 70, identity: 7)
    let new = try recording(from: 1_000_000, messageCount: 49, identity: 9)
    let left = overwritten(old)
    for cut in new.pieces[0].end...new.bytes.count {
      let bytes = Array(new.bytes[..<cut] + left[min(cut, left.count)...])
      // The padding of the last block is the same in both files, so a piece without it is complete too.
      let count = new.pieces.last { bytes.starts(with: new.bytes[..<$0.end]) }?.messageCount ?? 0
      let reader = try MCAPReader(MCAPBytes(bytes))
      #expect(try messages(of: reader, order: .file) == Array(new.messages[..<count]), "cut at \(cut)")
      for isRecycled in [false, true] {
        let repair = try MCAPRepair(of: MCAPBytes(bytes), isRecycled: isRecycled)
        let repaired = try MCAPReader(MCAPBytes(repair.applied(to: bytes)))
        try repaired.check()
        #expect(repaired.isIndexed && repair.messageCount == UInt64(count), "cut at \(cut)")
        #expect(try messages(of: repaired, order: .file) == Array(new.messages[..<count]), "cut at \(cut)")
      }
    }
  }

  @Test func `an incomplete piece does not count at all`() throws {
    let old = try recording(from: 100, messageCount: 70, identity: 7)
    let new = try recording(from: 1_000_000, messageCount: 49, identity: 9, isFinished: false)
    var random = SeededRandom()
    for (before, piece) in zip(new.pieces, new.pieces.dropFirst()) {
      for _ in 0..<50 {
        var bytes = overwritten(old)
        bytes.replaceSubrange(..<before.end, with: new.bytes[..<before.end])
        var isWhole = true
        var start = before.end
        while start < piece.end {
          let end = min((start / 256 + 1) * 256, piece.end)
          if Bool.random(using: &random) {
            bytes.replaceSubrange(start..<end, with: new.bytes[start..<end])
          } else if bytes[start..<end] != new.bytes[start..<end] {
            isWhole = false
          }
          start = end
        }
        let count = isWhole ? piece.messageCount : before.messageCount
        let repair = try MCAPRepair(of: MCAPBytes(bytes), isRecycled: false)
        #expect(repair.messageCount == UInt64(count))
      }
    }
  }

  @Test func `a wrong bit in a seal loses at most the pieces next to it, and is reported`() throws {
    let old = try recording(from: 100, messageCount: 140, identity: 7)
    let new = try recording(from: 1_000_000, messageCount: 84, identity: 9, isFinished: false)
    let left = overwritten(old)
    for place in new.pieces[8].end - Seal.byteCount..<new.pieces[8].end {
      for bit in 0..<8 {
        var bytes = new.bytes + left[new.bytes.count...]
        bytes[place] ^= 1 << UInt8(bit)
        let reader = try MCAPReader(MCAPBytes(bytes))
        let sequences = try Set(messages(of: reader, order: .file).map(\.sequence))
        let (before, behind) = (UInt32(new.pieces[7].messageCount), UInt32(new.pieces[9].messageCount))
        #expect(sequences.isSuperset(of: Set(0..<before).union(behind..<84)), "byte \(place), bit \(bit)")
        #expect(reader.leftOutByteCount > 0 && reader.damage != nil, "byte \(place), bit \(bit)")
      }
    }
  }

  @Test func `a bit error loses only its own piece, and is reported, also in the definition of a channel`() throws {
    let old = try recording(from: 100, messageCount: 140, identity: 7)
    let new = try recording(from: 1_000_000, messageCount: 84, identity: 9, isFinished: false)
    let left = overwritten(old)
    var random = SeededRandom()
    for index in 1..<new.pieces.count - 1 {
      let piece = new.pieces[index - 1].end..<new.pieces[index].end
      let next = new.pieces[index + 1].end
      for _ in 0..<20 {
        var bytes = new.bytes + left[new.bytes.count...]
        // The channels are in the first two pieces, which are separated by one seal.
        let place = Int.random(in: piece.dropLast(index == 1 ? 256 / 4 + Seal.byteCount : 0), using: &random)
        bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        let reader = try MCAPReader(MCAPBytes(bytes))
        let found = try messages(of: reader, order: .file)
        // A damaged seal also affects the next piece.
        let counts = [index - 1, index, index + 1].map { new.pieces[$0].messageCount }
        let lost = [counts[0]..<counts[1], counts[1]..<counts[2], counts[0]..<counts[2]]
        let left = lost.map { lost in new.messages.indices.filter { !lost.contains($0) }.map { new.messages[$0] } }
        let isOneOfThese = left.contains(found)
        #expect(isOneOfThese, "byte \(place) of \(piece): \(found.map(\.sequence))")
        #expect(reader.leftOutByteCount > 0 && reader.damage != nil)
        for isRecycled in [false, true] {
          let repair = try MCAPRepair(of: MCAPBytes(bytes), isRecycled: isRecycled)
          #expect(repair.lostByteCount > 0 && repair.lostByteCount < UInt64(next - piece.lowerBound))
          let repaired = try MCAPReader(MCAPBytes(repair.applied(to: bytes)))
          try repaired.check()
          #expect(try repaired.isIndexed && messages(of: repaired, order: .file) == found)
          #expect(try !MCAPRepair(of: repaired.source, isRecycled: isRecycled).isNeeded)
          // Simulates a power failure during the repair.
          var torn = bytes
          for part in repair.leftOut {
            torn.replaceSubrange(Int(part.lowerBound)..<Int(part.lowerBound) + 4, with: MCAPRepair.stepOver(part)[..<4])
          }
          #expect(try MCAPRepair(of: MCAPBytes(torn), isRecycled: isRecycled).messageCount == UInt64(found.count))
        }
      }
    }
  }

  @Test func `a scan that ended before a bit error continues after it`() throws {
    let file = try recording(from: 1, messageCount: 140, identity: 9, isFinished: false)
    let before = try MCAPReader(MCAPBytes(Array(file.bytes[..<file.pieces[5].end])))
    var bytes = file.bytes
    bytes[file.pieces[7].end + 60] ^= 4
    let after = try MCAPReader(MCAPBytes(bytes), after: before.scan)
    let last = try MCAPReader(MCAPBytes(bytes), after: after.scan)
    let left = file.messages.filter { !(50...56).contains($0.logTimeNanoseconds) }
    for reader in [after, last] {
      #expect(try messages(of: reader, order: .file) == left)
      #expect(reader.leftOutByteCount > 0)
    }
  }

  @Test func `a complete sealed file is read and checked like any other`() throws {
    for messageCount in [0, 1, 50, 500] {
      let recording = try recording(from: 1, messageCount: messageCount, identity: 3)
      let reader = try MCAPReader(MCAPBytes(recording.bytes))
      try reader.check()
      #expect(reader.isIndexed && reader.damage == nil)
      #expect(try messages(of: reader) == recording.messages)
      #expect(try !MCAPRepair(of: MCAPBytes(recording.bytes), isRecycled: false).isNeeded)
      // Zeros after the recording, as in a file that has not been truncated to its size yet.
      let bytes = recording.bytes + [UInt8](repeating: 0, count: 1000)
      let repair = try MCAPRepair(of: MCAPBytes(bytes), isRecycled: false)
      #expect(repair.applied(to: bytes) == recording.bytes)
    }
  }

  @Test func `full blocks are written, and data for an incomplete block is held back while it is new`() throws {
    var writer = try MCAPWriter(MCAPBytes(), blocks: MCAPBlocks(byteCount: 4096))
    let channel = try writer.addChannel(topic: "/a", messageEncoding: "x")
    var sent: [UInt64] = []
    for time in 0..<2000 as Range<UInt64> {
      let data = [UInt8](repeating: 1, count: 100 + Int(time % 5) * 30)
      try writer.append(data, channelID: channel, logTimeNanoseconds: time)
      sent.append(time)
      guard time % 100 == 99 else { continue }
      let before = writer.handedMessageCount
      try writer.flushWholeBlocks(leavingFrom: time - 60)
      #expect(writer.byteCount % 4096 == 0 && writer.handedMessageCount > before)
      #expect(writer.bufferedSinceNanoseconds.map { $0 == writer.handedMessageCount } ?? true)
      #expect(writer.finishedByteCount >= writer.byteCount)
    }
    try writer.flushWholeBlocks(leavingFrom: 5000)
    #expect(writer.handedMessageCount == 2000 && writer.bufferedSinceNanoseconds == nil)
    let bound = writer.finishedByteCount
    try writer.finish()
    #expect(writer.byteCount <= bound)
    let reader = try MCAPReader(writer.sink)
    try reader.check()
    #expect(try messages(of: reader, order: .file).map(\.logTimeNanoseconds) == sent)
  }

  @Test func `if a piece cannot be written, nothing is lost and nothing is written twice`() throws {
    struct Sink: MCAPSink {
      var file = MCAPBytes()
      var isFull = false

      mutating func append(_ bytes: UnsafeRawBufferPointer) throws(MCAPError) {
        if isFull { throw .system("writing", errno: 28) }
        file.append(bytes)
      }
    }
    var writer = try MCAPWriter(Sink(), blocks: MCAPBlocks(byteCount: 256))
    let channel = try writer.addChannel(topic: "/a", messageEncoding: "x")
    for time in 0..<300 as Range<UInt64> {
      try writer.append([1, 2, 3], channelID: channel, logTimeNanoseconds: time)
      guard time % 10 == 9 else { continue }
      writer.sink.isFull = time % 20 == 9
      if writer.sink.isFull {
        #expect(throws: MCAPError.system("writing", errno: 28)) { try writer.flushWholeBlocks(leavingFrom: 0) }
      } else {
        try writer.flushWholeBlocks(leavingFrom: 0)
      }
      #expect(writer.messageCount == time + 1)
    }
    writer.sink.isFull = false
    try writer.finish()
    let reader = try MCAPReader(writer.sink.file)
    try reader.check()
    #expect(try messages(of: reader, order: .file).map(\.logTimeNanoseconds) == Array(0..<300))
  }
}
