import Glibc
import TestSupport
import Testing

@testable import MCAP

/// Reads files with the reference implementation in Python, with all of its checks.
@Suite
struct PythonTests {
  /// Reads each file with both readers and verifies all checksums. For each file and reader it prints a line with a
  /// checksum over all fields of all messages and the number of records by kind.
  private static let script = """
    import sys, zlib
    import zstandard
    from mcap.data_stream import ReadDataStream
    from mcap.reader import SeekingReader, NonSeekingReader
    from mcap.records import Chunk, MessageIndex
    for path in sys.argv[1:]:
      for kind in (SeekingReader, NonSeekingReader):
        crc, count = 0, 0
        for schema, channel, message in kind(open(path, "rb"), validate_crcs=True).iter_messages(log_time_order=True):
          text = f"{schema.name if schema else ''} {channel.topic} {message.sequence} {message.log_time} {message.publish_time} "
          crc = zlib.crc32(text.encode() + message.data, crc)
          count += 1
        attachments = [a.name + a.data.hex() for a in kind(open(path, "rb"), validate_crcs=True).iter_attachments()]
        metadata = [m.name + str(len(m.metadata)) for m in kind(open(path, "rb"), validate_crcs=True).iter_metadata()]
        print(crc, count, *attachments, *metadata)
      summary = SeekingReader(open(path, "rb")).get_summary()
      assert summary.statistics.message_count == count
      assert sum(summary.statistics.channel_message_counts.values()) == count
      file, indexed = open(path, "rb"), 0
      for entry in summary.chunk_indexes:
        file.seek(entry.chunk_start_offset + 9)
        chunk = Chunk.read(ReadDataStream(file))
        assert file.tell() == entry.chunk_start_offset + entry.chunk_length
        assert chunk.compression == entry.compression and len(chunk.data) == entry.compressed_size
        records = zstandard.decompress(chunk.data) if chunk.compression else chunk.data
        assert len(records) == chunk.uncompressed_size == entry.uncompressed_size
        for channel_id, offset in entry.message_index_offsets.items():
          file.seek(offset + 9)
          index = MessageIndex.read(ReadDataStream(file))
          assert index.channel_id == channel_id
          for time, place in index.records:
            assert records[place] == 5
            assert int.from_bytes(records[place + 9:place + 11], "little") == channel_id
            assert int.from_bytes(records[place + 15:place + 23], "little") == time
            indexed += 1
      assert indexed == count
      data = open(path, "rb").read()
      assert zlib.crc32(data[int.from_bytes(data[-28:-20], "little"):-12]) == int.from_bytes(data[-12:-8], "little")
    """

  /// The line that the script should print for a file.
  private func expected(_ bytes: [UInt8]) throws -> String {
    let reader = try MCAPReader(MCAPBytes(bytes))
    var crc = CRC32()
    var count = 0
    for message in try messages(of: reader) {
      let channel = try #require(reader.summary.channels[message.channelID])
      let schema = reader.summary.schemas[channel.schemaID]?.name ?? ""
      let text =
        "\(schema) \(channel.topic) \(message.sequence) \(message.logTimeNanoseconds) \(message.publishTimeNanoseconds) "
      (Array(text.utf8) + message.data).withUnsafeBytes { crc.take($0) }
      count += 1
    }
    let attachments = try reader.summary.attachments.map { index in
      let attachment = try reader.attachment(index)
      let digits = attachment.data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      return " \(attachment.name)\(digits)"
    }
    let metadata = try reader.summary.metadata.map { " \($0.name)\(try reader.metadata($0).entries.count)" }
    return "\(crc.value) \(count)\(attachments.joined())\(metadata.joined())"
  }

  private func compare(_ files: [[UInt8]]) throws {
    let folder = TemporaryFolder("mcap")
    let paths = try files.enumerated().map { try folder.write($0.element, "\($0.offset).mcap") }
    let program = Python.program(["-c", PythonTests.script] + paths)
    #expect(program.wait() == 0, "\(program.standardError)")
    let lines = try files.map(expected).flatMap { [$0, $0] }
    #expect(program.lines == lines)
  }

  @Test func `the reference reads the writer's files`() throws {
    var empty = try MCAPWriter(MCAPBytes())
    try empty.finish()
    try compare([
      empty.sink.bytes, MadeRecording().bytes, MadeRecording(messageCount: 5000, chunkByteCount: 10_000).bytes,
      MadeRecording(messageCount: 300, chunkByteCount: 1).bytes,
    ])
  }

  @Test func `the reference reads sealed files`() throws {
    try compare([
      MadeRecording(blocks: MCAPBlocks(byteCount: 64)).bytes,
      MadeRecording(messageCount: 5000, chunkByteCount: 10_000, blocks: MCAPBlocks()).bytes,
    ])
  }

  @Test
  func `the reference reads compressed files`() throws {
    try compare([
      MadeRecording(compression: .zstd()).bytes,
      MadeRecording(messageCount: 5000, chunkByteCount: 10_000, compression: .zstd()).bytes,
      MadeRecording(messageCount: 5000, chunkByteCount: 100_000, compression: .zstd(level: 19)).bytes,
      MadeRecording(messageCount: 300, chunkByteCount: 1, compression: .zstd()).bytes,
      MadeRecording(messageCount: 5000, chunkByteCount: 10_000, compression: .zstd(), blocks: MCAPBlocks()).bytes,
    ])
  }

  @Test(arguments: MCAPCompression.written)
  func `the reference reads repaired files`(_ compression: MCAPCompression) throws {
    let recording = try MadeRecording(messageCount: 60, compression: compression)
    var files: [[UInt8]] = []
    for cut in stride(from: 0, to: recording.bytes.count, by: 29) {
      for zeros in [0, 3000] {
        let bytes = recording.bytes[..<cut] + [UInt8](repeating: 0, count: zeros)
        files.append(try MCAPRepair(of: MCAPBytes(Array(bytes)), isRecycled: false).applied(to: Array(bytes)))
      }
    }
    // A file with a damaged piece in the middle.
    var bytes = try MadeRecording(
      messageCount: 60, compression: compression, isFinished: false, blocks: MCAPBlocks(byteCount: 256)
    ).bytes
    bytes[bytes.count / 2] ^= 1
    let repair = try MCAPRepair(of: MCAPBytes(bytes), isRecycled: false)
    #expect(!repair.leftOut.isEmpty)
    files.append(repair.applied(to: bytes))
    try compare(files)
  }

  @Test(arguments: ["NONE", "ZSTD", "LZ4"])
  func `the reader reads the reference's files`(_ compression: String) throws {
    let folder = TemporaryFolder("mcap")
    let path = folder.path + "/python.mcap"
    let script = """
      import sys
      from mcap.writer import Writer, CompressionType
      writer = Writer(sys.argv[1], chunk_size=500, compression=CompressionType[sys.argv[2]])
      writer.start(profile="p", library="l")
      schema = writer.register_schema(name="s", encoding="jsonschema", data=b"{}")
      channels = [writer.register_channel(topic=t, message_encoding="json", schema_id=schema) for t in ("/a", "/b")]
      writer.add_attachment(create_time=1, log_time=2, name="n", media_type="m", data=b"d")
      for i in range(200):
        writer.add_message(channels[i % 2], log_time=1000 + i * 7 % 100, publish_time=i, sequence=i, data=b"x" * i)
      writer.add_metadata("meta", {"k": "v"})
      writer.finish()
      """
    let program = Python.program(["-c", script, path, compression])
    #expect(program.wait() == 0, "\(program.standardError)")
    let reader = try MCAPReader(path: path)
    #expect(reader.isIndexed)
    #expect(
      reader.summary.chunks.allSatisfy { $0.compression == (compression == "NONE" ? "" : compression.lowercased()) })
    try reader.check()
    #expect(reader.header == MCAPHeader(profile: "p", library: reader.header.library))
    let found = try messages(of: reader, order: .file)
    #expect(found.map(\.sequence) == Array(0..<200))
    #expect(found.map(\.data.count) == Array(0..<200))
    let times = try messages(of: reader).map(\.logTimeNanoseconds)
    #expect(times == times.sorted())
    #expect(try reader.attachment(reader.summary.attachments[0]).data == Array("d".utf8))
    #expect(try reader.metadata(reader.summary.metadata[0]).entries == ["k": "v"])

    // The same file, cut.
    let bytes = SharedData.read(path)
    let half = Array(bytes[..<(bytes.count / 2)])
    let repaired = try MCAPRepair(of: MCAPBytes(half), isRecycled: false).applied(to: half)
    let rest = try messages(of: MCAPReader(MCAPBytes(repaired)), order: .file)
    #expect(rest == Array(found[..<rest.count]))
    #expect(rest.count > 100)
    // The script reads only Zstandard frames.
    if compression != "LZ4" { try compare([bytes, repaired]) }
  }
}
