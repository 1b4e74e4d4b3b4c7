import Glibc
import TestSupport
import Testing

@testable import MCAP

@Suite struct CompressionTests {
  private let folder = TemporaryFolder("mcap")

  /// A file with one chunk whose header contains these values.
  private func file(
    _ compressed: [UInt8], uncompressedByteCount: UInt64, crc: UInt32 = 0, compression: String = "zstd"
  ) -> (bytes: [UInt8], chunk: MCAPChunkIndex) {
    var bytes = Layout.magic
    MCAPHeader().append(to: &bytes)
    let offset = UInt64(bytes.count)
    let chunk = bytes.beginRecord(Opcode.chunk)
    bytes.append(contentsOf: repeatElement(0, count: 16))
    bytes.append(littleEndian: uncompressedByteCount)
    bytes.append(littleEndian: crc)
    bytes.append(prefixed: compression)
    bytes.append(littleEndian: UInt64(compressed.count))
    bytes += compressed
    bytes.endRecord(chunk)
    var summary = MCAPSummary()
    summary.channels = [1: MCAPChannel(id: 1, schemaID: 0, topic: "/a", messageEncoding: "x")]
    summary.chunks = [
      MCAPChunkIndex(
        startTimeNanoseconds: 0, endTimeNanoseconds: 0, offset: offset, byteCount: UInt64(bytes.count) - offset,
        channels: [], messageIndexByteCount: 0, compression: compression, compressedByteCount: UInt64(compressed.count),
        uncompressedByteCount: uncompressedByteCount)
    ]
    bytes += summary.trailer(at: UInt64(bytes.count), crc: 0)
    return (bytes, summary.chunks[0])
  }

  /// The error of reading the only chunk of a file; `nil` if reading succeeds.
  private func error(_ bytes: [UInt8], limit: Int = 1 << 20) throws -> MCAPError? {
    var messages = try MCAPReader(MCAPBytes(bytes), memoryLimitByteCount: limit).messages(order: .file)
    do throws(MCAPError) {
      while try messages.next() != nil {}
    } catch {
      return error
    }
    return nil
  }

  /// The output of a program for an input.
  private func run(_ program: String, _ arguments: [String], _ bytes: [UInt8]) throws -> [UInt8] {
    let input = try folder.write(bytes, "input")
    let output = folder.path + "/output"
    let program = Program(["-q", "-f", input] + arguments + [output], path: "/usr/bin/\(program)")
    #expect(program.wait() == 0, "\(program.standardError)")
    return SharedData.read(output)
  }

  /// A frame that states its size.
  private func frame(_ bytes: [UInt8]) throws -> [UInt8] {
    let library = try #require(Zstandard.library)
    let context = library.createContext()
    defer { _ = library.freeContext(context) }
    var frame = [UInt8](repeating: 0, count: bytes.count + 1000)
    let room = frame.count
    let count = frame.withUnsafeMutableBytes { frame in
      bytes.withUnsafeBytes { library.compress(context, frame.baseAddress, room, $0.baseAddress, $0.count, 1) }
    }
    try #require(library.isError(count) == 0)
    return Array(frame[..<count])
  }

  // MARK: Writing

  @Test(arguments: [1, 3, 19, -5, 1000], [40, 300, 10_000])
  func `compressed data is read back`(level: Int, chunkByteCount: Int) throws {
    let recording = try MadeRecording(
      messageCount: 400, chunkByteCount: chunkByteCount, compression: .zstd(level: level))
    let plain = try MadeRecording(messageCount: 400, chunkByteCount: chunkByteCount)
    let reader = try MCAPReader(MCAPBytes(recording.bytes))
    #expect(reader.isIndexed && reader.damage == nil && reader.missingDecompression == nil)
    #expect(try messages(of: reader, order: .file) == plain.messages)
    #expect(try messages(of: reader) == plain.sorted)
    try reader.check()
    let scan = try DataSectionScan(MCAPBytes(recording.bytes), trust: .wholeRecords, limit: 1 << 20)
    #expect(scan.summary.chunks == reader.summary.chunks, "the message indexes are as they should be")
    #expect(recording.bytes.count <= plain.bytes.count + 4 * reader.summary.chunks.count)
    if chunkByteCount >= 300 {
      #expect(reader.summary.chunks.contains { $0.compression == "zstd" })
      let chunks = reader.summary.chunks
      #expect(chunks.allSatisfy { $0.compressedByteCount <= $0.uncompressedByteCount })
    }
  }

  @Test func `a sealed file is compressed too, and is no larger than the stated limit`() throws {
    for chunkByteCount in [40, 300, 5000] {
      var writer = try MCAPWriter(
        MCAPBytes(), compression: .zstd(), chunkByteCount: chunkByteCount, blocks: MCAPBlocks(byteCount: 256))
      let channel = try writer.addChannel(topic: "/a", messageEncoding: "x")
      for index in 0..<200 as Range<UInt64> {
        try writer.append([UInt8](repeating: 7, count: 20), channelID: channel, logTimeNanoseconds: index)
        if index % 30 == 29 { try writer.flushWholeBlocks(leavingFrom: index - 10) }
      }
      let most = writer.finishedByteCount
      try writer.finish()
      #expect(writer.byteCount <= most)
      let reader = try MCAPReader(writer.sink)
      #expect(reader.summary.chunks.contains { $0.compression == "zstd" })
      try reader.check()
      // Without the end of the file, only the seals show how much belongs to it.
      for cut in stride(from: Int(reader.summary.chunks[0].offset), to: writer.sink.bytes.count, by: 97) {
        let bytes = Array(writer.sink.bytes[..<cut])
        let repair = try MCAPRepair(of: MCAPBytes(bytes), isRecycled: true)
        let repaired = try MCAPReader(MCAPBytes(repair.applied(to: bytes)))
        try repaired.check()
        let times = try messages(of: repaired, order: .file).map(\.logTimeNanoseconds)
        #expect(times == Array(0..<UInt64(times.count)), "cut at \(cut)")
        let whole = reader.summary.chunks.last {
          $0.offset + $0.byteCount + $0.messageIndexByteCount + UInt64(Seal.byteCount) + 64 <= cut
        }
        #expect(UInt64(times.count) >= whole.map { $0.endTimeNanoseconds + 1 } ?? 0, "cut at \(cut)")
      }
    }
  }

  @Test func `a chunk that compression would not make smaller stays uncompressed`() throws {
    func noise(_ compression: MCAPCompression) throws -> [UInt8] {
      var random = SeededRandom(seed: 1)
      var writer = try MCAPWriter(MCAPBytes(), compression: compression, chunkByteCount: 5000)
      let channel = try writer.addChannel(topic: "/noise", messageEncoding: "x")
      for index in 0..<20 as Range<UInt64> {
        let data = (0..<4000).map { _ in UInt8.random(in: 0...255, using: &random) }
        try writer.append(data, channelID: channel, logTimeNanoseconds: index)
      }
      try writer.finish()
      return writer.sink.bytes
    }
    let bytes = try noise(.zstd())
    let chunks = try MCAPReader(MCAPBytes(bytes)).summary.chunks
    // The first chunk also contains the channel, whose text may compress.
    #expect(chunks.dropFirst().allSatisfy { $0.compression.isEmpty })
    #expect(try bytes.count <= noise(.none).count + 4)
  }

  @Test func `the compressor's buffer is reused`() throws {
    var compressor = try ChunkCompressor(level: 1, Zstandard.library)
    compressor.reserve(20_000)
    let capacity = compressor.bytes.capacity
    for round in 0..<20 as Range<UInt64> {
      var chunk = ChunkBuilder(reserving: 20_000)
      for index in 0..<500 as Range<UInt64> {
        withUnsafeBytes(of: index) {
          chunk.appendMessage(
            $0, channelID: 1, sequence: 0, logTimeNanoseconds: round * 1000 + index, publishTimeNanoseconds: 0)
        }
      }
      #expect(compressor.finish(&chunk, at: 0) != nil)
      #expect(compressor.bytes.capacity == capacity)
    }
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

  @Test func `a sink that fails for a while loses nothing`() throws {
    var writer = try MCAPWriter(FullDisk(), compression: .zstd(), chunkByteCount: 400)
    let channel = try writer.addChannel(topic: "/a", messageEncoding: "x")
    var taken: [UInt8] = []
    for number in 0..<200 as Range<UInt8> {
      writer.sink.isFull = (50..<120).contains(number)
      do throws(MCAPError) {
        try writer.append([number], channelID: channel, logTimeNanoseconds: UInt64(number))
        taken.append(number)
      } catch {
        #expect(error == .system("writing", errno: 28))
      }
      #expect(writer.bufferedByteCount <= 400)
    }
    try writer.finish()
    #expect(taken.count >= 130)
    let reader = try MCAPReader(MCAPBytes(writer.sink.bytes))
    #expect(try messages(of: reader).map { Array($0.data) } == taken.map { [$0] })
    try reader.check()
  }

  // MARK: Other programs

  @Test
  func `zstd's own program reads the chunks`() throws {
    let recording = try MadeRecording(messageCount: 400, chunkByteCount: 5000, compression: .zstd())
    let reader = try MCAPReader(MCAPBytes(recording.bytes))
    for (index, part) in zip(reader.summary.chunks, reader.parts) where index.compression == "zstd" {
      let end = Int(index.offset + index.byteCount)
      let frame = Array(recording.bytes[end - Int(index.compressedByteCount)..<end])
      let input = try folder.write(frame, "input")
      let program = Program(["-d", "-q", "-f", input, "-o", folder.path + "/output"], path: "/usr/bin/zstd")
      #expect(program.wait() == 0, "\(program.standardError)")
      let chunk = try part.load(reader.source, limit: 1 << 20)
      #expect(SharedData.read(folder.path + "/output") == Array(chunk.bytes[chunk.records]))
    }
  }

  @Test
  func `the output of zstd's own program is read`() throws {
    for variant in ConformanceVariant.all where variant.features.isSuperset(of: [.chunks, .padding]) {
      guard variant.content.name == "TenMessages" else { continue }
      try variant.expectRead(variant.bytes(compression: "zstd") { try run("zstd", ["-o"], $0) })
    }
  }

  @Test
  func `the output of lz4's own program is read`() throws {
    for variant in ConformanceVariant.all where variant.features.isSuperset(of: [.chunks, .padding]) {
      guard variant.content.name == "TenMessages" else { continue }
      try variant.expectRead(variant.bytes(compression: "lz4") { try run("lz4", [], $0) })
    }
    let compressed = try run("lz4", [], [UInt8](repeating: 7, count: 300_000))
    for byteCount in [0, 1, 299_999, 300_001] as [UInt64] {
      let (bytes, chunk) = file(compressed, uncompressedByteCount: byteCount, compression: "lz4")
      #expect(try error(bytes) == .malformed("compressed chunk", offset: chunk.offset))
    }
  }

  // MARK: Damaged files

  @Test func `a compressed file that is cut at any byte has all messages of its complete chunks`() throws {
    let recording = try MadeRecording(compression: .zstd())
    let whole = try MCAPReader(MCAPBytes(recording.bytes))
    var ends: [(chunk: Int, messages: Int)] = []
    for part in whole.parts {
      let chunk = try part.load(whole.source, limit: 1 << 20)
      var records = chunk.sequence
      var count = ends.last?.messages ?? 0
      while let record = try records.next() { count += record.opcode == Opcode.message ? 1 : 0 }
      ends.append((Int(part.offset + part.byteCount), count))
    }
    for cut in 0...recording.bytes.count {
      for zeros in [0, 3000] {
        let bytes = recording.bytes[..<cut] + [UInt8](repeating: 0, count: zeros)
        let repair = try MCAPRepair(of: MCAPBytes(Array(bytes)), isRecycled: false)
        let repaired = repair.applied(to: Array(bytes))
        let reader = try MCAPReader(MCAPBytes(repaired))
        #expect(reader.isIndexed && reader.damage == nil)
        try reader.check()
        let found = try messages(of: reader, order: .file)
        #expect(found == Array(recording.messages[..<found.count]), "cut at \(cut), \(zeros) zeros")
        #expect(found.count >= ends.last { $0.chunk <= cut }?.messages ?? 0, "cut at \(cut), \(zeros) zeros")
        let scan = try DataSectionScan(MCAPBytes(repaired), trust: .wholeRecords, limit: 1 << 20)
        #expect(scan.summary.chunks == reader.summary.chunks, "the message indexes are as they should be")
        #expect(try !MCAPRepair(of: MCAPBytes(repaired), isRecycled: false).isNeeded)
      }
    }
  }

  @Test func `a damaged frame is an error, and reading continues after it`() throws {
    let recording = try MadeRecording(messageCount: 60, compression: .zstd())
    let chunk = try #require(
      try MCAPReader(MCAPBytes(recording.bytes)).summary.chunks.first { $0.compression == "zstd" })
    let end = Int(chunk.offset + chunk.byteCount)
    for index in end - Int(chunk.compressedByteCount)..<end {
      for value in [0, 0xFF, recording.bytes[index] ^ 1] as [UInt8] where value != recording.bytes[index] {
        var bytes = recording.bytes
        bytes[index] = value
        var cursor = try MCAPReader(MCAPBytes(bytes)).messages(order: .file)
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
        // A frame contains bits that nothing depends on, so a change may have no effect.
        if errors.isEmpty { #expect(found == recording.messages) } else { #expect(errors.count == 1) }
        #expect(found.count > 40)
      }
    }
  }

  @Test func `a decompression bomb is an error, and allocates no memory`() throws {
    let size: UInt64 = 64 << 20
    let bomb = try frame([UInt8](repeating: 0, count: Int(size)))
    #expect(bomb.count < 10_000)
    #expect(
      try error(file(try frame([7, 7, 7]), uncompressedByteCount: 4).bytes)
        == .malformed("compressed chunk", offset: 25))
    // The frame states its true size, which exceeds the limit.
    #expect(
      try error(file(bomb, uncompressedByteCount: size).bytes)
        == .tooLarge(
          "chunks that overlap in time",
          byteCount: size + file(bomb, uncompressedByteCount: size).chunk.byteCount, limit: 1 << 20))
    // The chunk states a small size, or one that differs from the frame's.
    for wrong in [1, 1000, size - 1, .max, 1 << 63] as [UInt64] {
      let (bytes, chunk) = file(bomb, uncompressedByteCount: wrong)
      let found = try LoadedChunk.error(bytes, chunk, limit: 1 << 20)
      let isTooLarge = if case .tooLarge = found { true } else { false }
      #expect(isTooLarge || found == .malformed("compressed chunk", offset: chunk.offset), "\(wrong)")
      #expect(try error(bytes) != nil)
    }
    // A frame without a size: the window, then many copies of a 4-byte block that expands to 128 KiB.
    let block: [UInt8] = [0x02, 0x00, 0x10, 0x00]
    var silent: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x58]
    for index in 0..<512 { silent += index == 511 ? [block[0] | 1] + block[1...] : block }
    for (wrong, limit) in [(1000, 1 << 20), (UInt64(1) << 40, 1 << 20), (size - 1, 1 << 30)] as [(UInt64, Int)] {
      let (bytes, chunk) = file(silent, uncompressedByteCount: wrong)
      #expect(try LoadedChunk.error(bytes, chunk, limit: limit) != nil, "\(wrong)")
    }
    let (bytes, chunk) = file(silent, uncompressedByteCount: size)
    #expect(try LoadedChunk.error(bytes, chunk, limit: 1 << 30) == nil)
    // A repair does not discard a chunk that it may not read.
    #expect(throws: MCAPError.self) {
      try MCAPRepair(of: MCAPBytes(Array(bytes.dropLast(9))), isRecycled: false, memoryLimitByteCount: 1 << 20)
    }
  }

  @Test func `overlapping chunks are decompressed in memory together, up to the limit`() throws {
    var writer = try MCAPWriter(MCAPBytes(), compression: .zstd(), chunkByteCount: 1000)
    let channel = try writer.addChannel(topic: "/a", messageEncoding: "x")
    for index in 0..<1000 as Range<UInt64> {
      try writer.append([], channelID: channel, logTimeNanoseconds: index * 7919 % 1000)
    }
    try writer.finish()
    #expect(try messages(of: MCAPReader(writer.sink)).map(\.logTimeNanoseconds) == Array(0..<1000))
    // The chunks are smaller than this in the file, but larger in memory.
    let stored = try MCAPReader(writer.sink).summary.chunks.reduce(0) { $0 + Int($1.byteCount) }
    let small = try MCAPReader(writer.sink, memoryLimitByteCount: stored + 3000)
    #expect(throws: MCAPError.self) { try messages(of: small) }
    #expect(try messages(of: small, order: .file).count == 1000)
  }
}

/// Tests that run without the compression libraries.
struct MissingCompressionTests {
  @Test(arguments: [("zstd", "install libzstd1"), ("lz4", "install liblz4-1"), ("bz2", "mcap decompress")])
  func `without the library the error says what to install`(compression: String, nextStep: String) throws {
    let variant = try #require(ConformanceVariant.all.first { $0.features == [.chunks, .chunkIndex] })
    let bytes = try variant.bytes(compression: compression)
    let chunk = try MCAPBytes(bytes).recordPrefix(at: 25).content
    let expected = MCAPError.compressed(compression, offset: 25)
    #expect(throws: expected) {
      try LoadedChunk(MCAPBytes(bytes), chunk, limit: 1 << 20, decompression: .none)
    }
    #expect(expected.description.contains(compression))
    #expect(expected.description.contains(nextStep))
  }

  @Test func `an unknown compression is reported before messages are read`() throws {
    let all: Set<ConformanceVariant.Feature> = [
      .chunks, .chunkIndex, .messageIndex, .repeatedChannels, .repeatedSchemas, .statistics,
    ]
    let variant = try #require(
      ConformanceVariant.all.first { $0.features == all && $0.content.name == "TenMessages" })
    let reader = try MCAPReader(MCAPBytes(variant.bytes(compression: "bz2")))
    #expect(reader.isIndexed)
    #expect(reader.missingDecompression == .compressed("bz2", offset: 25))
    var messages = reader.messages()
    #expect(throws: MCAPError.compressed("bz2", offset: 25)) { try messages.next() }
    #expect(try messages.next() == nil)
    #expect(try MCAPReader(MCAPBytes(variant.bytes())).missingDecompression == nil)
  }

  @Test func `without the library the writer does not compress, and the error says what to install`() {
    #expect(Zstandard("libsensorhub-none.so.1") == nil)
    // A library that exists but has none of the functions.
    #expect(Zstandard("libc.so.6") == nil && LZ4("libc.so.6") == nil)
    #expect(throws: MCAPError.missingLibrary("zstd")) { _ = try ChunkCompressor(level: 1, nil) }
    #expect(MCAPError.missingLibrary("zstd").nextStep == "install libzstd1")
  }
}

extension LoadedChunk {
  /// The error of loading a chunk; `nil` if loading succeeds.
  fileprivate static func error(_ bytes: [UInt8], _ chunk: MCAPChunkIndex, limit: Int) throws -> MCAPError? {
    let source = MCAPBytes(bytes)
    let content = try source.recordPrefix(at: chunk.offset).content
    do throws(MCAPError) {
      _ = try LoadedChunk(source, content, limit: limit)
    } catch {
      return error
    }
    return nil
  }
}
