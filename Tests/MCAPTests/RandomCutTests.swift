import Glibc
import TestSupport
import Testing

@testable import MCAP

/// A recording that is cut anywhere is repaired, and loses only the data after its last complete chunk.
struct RandomCutTests {
  private enum Tail: CaseIterable { case nothing, zeros, noise }

  /// A recording of a hub; by default one is made.
  private static let path = getenv("SENSORHUB_RECORDING").map { String(cString: $0) }

  /// The messages in file order, and the number of messages up to the end of each part.
  private func contents(_ bytes: [UInt8]) throws -> (messages: [MCAPMessage], ends: [(offset: UInt64, count: Int)]) {
    let reader = try MCAPReader(MCAPBytes(bytes))
    var count = 0
    let ends = try reader.parts.map { part in
      let chunk = try part.load(reader.source, limit: 256 << 20)
      var records = chunk.sequence
      while let record = try records.next() { count += record.opcode == Opcode.message ? 1 : 0 }
      return (offset: part.offset + part.byteCount, count: count)
    }
    return (try messages(of: reader, order: .file), ends)
  }

  @Test(arguments: MCAPCompression.written)
  func `files cut at a thousand random places are repaired`(compression: MCAPCompression) throws {
    let whole =
      try RandomCutTests.path.map { SharedData.read($0) }
      ?? MadeRecording(messageCount: 400, chunkByteCount: 3000, compression: compression).bytes
    let (all, ends) = try contents(whole)
    var random = SeededRandom()
    // If the file ended exactly where the cut message should end, the appended bytes would pass for its rest.
    let least = (all.map(\.data.count).max() ?? 0) + 100
    let headerEnd = Int(try MCAPBytes(whole).recordPrefix(at: UInt64(Layout.magic.count)).content.upperBound)
    for index in 0..<1000 {
      let tail = Tail.allCases[index % 3]
      // A file whose header is noise is not recognized as a recording and is left unchanged.
      let cut = Int.random(in: (tail == .noise ? headerEnd : 0)...whole.count, using: &random)
      let count = Int.random(in: least...least + 20_000, using: &random)
      let what = "cut at \(cut), then \(count) bytes of \(tail)"
      var bytes = Array(whole[..<cut])
      switch tail {
      case .nothing: break
      case .zeros: bytes += [UInt8](repeating: 0, count: count)
      case .noise: bytes += (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      }
      let repair = try MCAPRepair(of: MCAPBytes(bytes), isRecycled: false)
      let repaired = MCAPBytes(repair.applied(to: bytes))
      let reader = try MCAPReader(repaired)
      #expect(reader.damage == nil && reader.isIndexed, "\(what)")
      try reader.check()
      let found = try messages(of: reader, order: .file)
      #expect(found.elementsEqual(all.prefix(found.count)), "\(what)")
      #expect(found.count >= ends.last { $0.offset <= UInt64(cut) }?.count ?? 0, "\(what)")
      #expect(repair.messageCount == UInt64(found.count), "\(what)")
      #expect(try !MCAPRepair(of: repaired, isRecycled: false).isNeeded, "\(what)")
    }
  }

  /// Noise that ends before the chunk does may complete the message that was cut, but cannot begin another one.
  @Test func `a cut message that only noise completes is dropped`() throws {
    let recording = try MadeRecording(messageCount: 100, chunkByteCount: 1 << 20)
    let ends = try recording.messageEnds()
    var random = SeededRandom()
    for cut in ends[0]...ends[40] {
      // The noise does not begin with the opcode of a record, because too few bytes follow to recognize it as noise.
      let noise = [UInt8](repeating: 0xFE, count: 12) + (0..<40).map { _ in .random(in: 1...255, using: &random) }
      let bytes = Array(recording.bytes[..<cut]) + noise
      let repair = try MCAPRepair(of: MCAPBytes(bytes), isRecycled: false)
      let found = try messages(of: MCAPReader(MCAPBytes(repair.applied(to: bytes))), order: .file)
      let whole = ends.count { $0 <= cut }
      #expect(found.elementsEqual(recording.messages.prefix(found.count)), "cut at \(cut)")
      // If noise begins right after the last message, that message cannot be recognized as complete.
      #expect(found.count == whole || found.count == whole - 1, "cut at \(cut)")
    }
  }
}
