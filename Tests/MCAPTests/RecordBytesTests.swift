import Testing

@testable import MCAP

/// A file with every kind of record, byte for byte from the tables of the specification. The bytes were composed by
/// hand, with checksums from zlib.
struct RecordBytesTests {
  private static let file = """
    894d434150300d0a # magic
    01 # HEADER
    0b00000000000000 # length
    00000000 # profile
    030000006c6962 # library
    06 # CHUNK
    b900000000000000 # length
    8077665544332211 # start time
    8877665544332211 # end time
    9100000000000000 # uncompressed size
    d07ae762 # uncompressed CRC
    00000000 # compression
    9100000000000000 # size of the records
    03 # SCHEMA
    1d00000000000000 # length
    0100 # id
    03000000466978 # name
    0a0000006a736f6e736368656d61 # encoding
    020000007b7d # data
    04 # CHANNEL
    2200000000000000 # length
    0100 # id
    0100 # schema
    040000002f666978 # topic
    040000006a736f6e # message encoding
    0a000000010000006b0100000076 # metadata
    05 # MESSAGE
    1800000000000000 # length
    0100 # channel
    00000000 # sequence
    8877665544332211 # log time
    0077665544332211 # publish time
    aabb # data
    05 # MESSAGE
    1600000000000000 # length
    0100 # channel
    01000000 # sequence
    8077665544332211 # log time
    8077665544332211 # publish time
     # data
    07 # MESSAGE INDEX
    2600000000000000 # length
    0100 # channel
    20000000 # size of the entries
    88776655443322115100000000000000 # log time, offset
    80776655443322117200000000000000 # log time, offset
    09 # ATTACHMENT
    3500000000000000 # length
    0500000000000000 # log time
    0400000000000000 # create time
    05000000612e747874 # name
    0a000000746578742f706c61696e # media type
    02000000000000006869 # data
    f4c25a60 # CRC
    0c # METADATA
    1800000000000000 # length
    05000000626f617264 # name
    0b0000000200000070690100000035 # metadata
    0f # DATA END
    0400000000000000 # length
    8a247270 # data section CRC
    03 # SCHEMA
    1d00000000000000 # length
    0100 # id
    03000000466978 # name
    0a0000006a736f6e736368656d61 # encoding
    020000007b7d # data
    04 # CHANNEL
    2200000000000000 # length
    0100 # id
    0100 # schema
    040000002f666978 # topic
    040000006a736f6e # message encoding
    0a000000010000006b0100000076 # metadata
    0b # STATISTICS
    3800000000000000 # length
    0200000000000000 # messages
    0100 # schemas
    01000000 # channels
    01000000 # attachments
    01000000 # metadata
    01000000 # chunks
    8077665544332211 # start time
    8877665544332211 # end time
    0a00000001000200000000000000 # messages by channel
    08 # CHUNK INDEX
    4a00000000000000 # length
    8077665544332211 # start time
    8877665544332211 # end time
    1c00000000000000 # chunk offset
    c200000000000000 # chunk length
    0a0000000100de00000000000000 # message index offsets
    2f00000000000000 # message index length
    00000000 # compression
    9100000000000000 # compressed size
    9100000000000000 # uncompressed size
    0a # ATTACHMENT INDEX
    3f00000000000000 # length
    0d01000000000000 # offset
    3e00000000000000 # length
    0500000000000000 # log time
    0400000000000000 # create time
    0200000000000000 # data size
    05000000612e747874 # name
    0a000000746578742f706c61696e # media type
    0d # METADATA INDEX
    1900000000000000 # length
    4b01000000000000 # offset
    2100000000000000 # length
    05000000626f617264 # name
    0e # SUMMARY OFFSET
    1100000000000000 # length
    03 # opcode of the group
    7901000000000000 # start
    2600000000000000 # length
    0e # SUMMARY OFFSET
    1100000000000000 # length
    04 # opcode of the group
    9f01000000000000 # start
    2b00000000000000 # length
    0e # SUMMARY OFFSET
    1100000000000000 # length
    0b # opcode of the group
    ca01000000000000 # start
    4100000000000000 # length
    0e # SUMMARY OFFSET
    1100000000000000 # length
    08 # opcode of the group
    0b02000000000000 # start
    5300000000000000 # length
    0e # SUMMARY OFFSET
    1100000000000000 # length
    0a # opcode of the group
    5e02000000000000 # start
    4800000000000000 # length
    0e # SUMMARY OFFSET
    1100000000000000 # length
    0d # opcode of the group
    a602000000000000 # start
    2200000000000000 # length
    02 # FOOTER
    1400000000000000 # length
    7901000000000000 # summary start
    c802000000000000 # summary offset start
    dde12397 # summary CRC
    894d434150300d0a # magic
    """

  private static let bytes: [UInt8] = {
    let digits = file.split(separator: "\n").flatMap { $0.prefix { $0 != "#" }.filter(\.isHexDigit) }
    return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
  }()

  @Test func `every record is written as specified`() throws {
    var writer = try MCAPWriter(MCAPBytes(), header: MCAPHeader(library: "lib"))
    let schema = try writer.addSchema(name: "Fix", encoding: "jsonschema", data: Array("{}".utf8))
    let channel = try writer.addChannel(
      topic: "/fix", messageEncoding: "json", schemaID: schema, metadata: ["k": "v"])
    try writer.append(
      [0xAA, 0xBB], channelID: channel, logTimeNanoseconds: 0x1122_3344_5566_7788,
      publishTimeNanoseconds: 0x1122_3344_5566_7700)
    try writer.append([], channelID: channel, logTimeNanoseconds: 0x1122_3344_5566_7780)
    try writer.add(
      MCAPAttachment(
        name: "a.txt", mediaType: "text/plain", logTimeNanoseconds: 5, createTimeNanoseconds: 4, data: Array("hi".utf8))
    )
    try writer.add(MCAPMetadata(name: "board", entries: ["pi": "5"]))
    try writer.finish()
    #expect(writer.sink.bytes == RecordBytesTests.bytes)
    #expect(writer.byteCount == UInt64(RecordBytesTests.bytes.count))
  }

  @Test func `every record is read as specified`() throws {
    let reader = try MCAPReader(MCAPBytes(RecordBytesTests.bytes))
    #expect(reader.isIndexed)
    #expect(reader.damage == nil)
    #expect(reader.header == MCAPHeader(library: "lib"))
    #expect(
      reader.summary.schemas == [1: MCAPSchema(id: 1, name: "Fix", encoding: "jsonschema", data: Array("{}".utf8))])
    #expect(
      reader.summary.channels == [
        1: MCAPChannel(id: 1, schemaID: 1, topic: "/fix", messageEncoding: "json", metadata: ["k": "v"])
      ])
    #expect(
      try messages(of: reader, order: .file) == [
        MCAPMessage(
          channelID: 1, sequence: 0, logTimeNanoseconds: 0x1122_3344_5566_7788,
          publishTimeNanoseconds: 0x1122_3344_5566_7700, data: [0xAA, 0xBB]),
        MCAPMessage(
          channelID: 1, sequence: 1, logTimeNanoseconds: 0x1122_3344_5566_7780,
          publishTimeNanoseconds: 0x1122_3344_5566_7780, data: []),
      ])
    #expect(try reader.attachment(reader.summary.attachments[0]).data == Array("hi".utf8))
    #expect(try reader.metadata(reader.summary.metadata[0]).entries == ["pi": "5"])
    var statistics = MCAPStatistics()
    statistics.messageCount = 2
    statistics.schemaCount = 1
    statistics.channelCount = 1
    statistics.attachmentCount = 1
    statistics.metadataCount = 1
    statistics.chunkCount = 1
    statistics.startTimeNanoseconds = 0x1122_3344_5566_7780
    statistics.endTimeNanoseconds = 0x1122_3344_5566_7788
    statistics.channelMessageCounts = [1: 2]
    #expect(reader.summary.statistics == statistics)
    try reader.check()
  }

  @Test func `a full scan finds the same summary that the file has`() throws {
    let scan = try DataSectionScan(MCAPBytes(RecordBytesTests.bytes), trust: .wholeRecords, limit: 1 << 20)
    var summary = scan.summary
    summary.statistics = summary.counted
    #expect(try MCAPReader(MCAPBytes(RecordBytesTests.bytes)).summary == summary)
  }

  @Test func `the checksum is that of zip`() {
    #expect(CRC32.of(Array("123456789".utf8), 0..<9) == 0xCBF4_3926)
    #expect(CRC32.of([], 0..<0) == 0)
    // The checksum is the same for any division into pieces.
    let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    for size in 1...17 {
      var crc = CRC32()
      for start in stride(from: 0, to: bytes.count, by: size) {
        bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { crc.take($0) }
      }
      #expect(crc.value == CRC32.of(bytes, 0..<bytes.count))
    }
  }
}
