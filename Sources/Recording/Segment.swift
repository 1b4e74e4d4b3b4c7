import Glibc
import MCAP

/// The segment that is being written.
///
/// Each segment has its own numbers of channels. It contains only channels with messages, and can be read without the
/// other segments.
final class Segment {
  let name: String
  private let file: any SegmentFile
  private var writer: MCAPWriter<SegmentSink>
  /// For each registered channel number, the channel's ID in this segment; 0 if the channel has no messages here.
  private var channelIDs: [UInt16] = []
  private var schemaIDs: [String: UInt16] = [:]
  /// The number of messages that have certainly been written to the file.
  private var writtenMessageCount: UInt64 = 0

  init(
    _ name: String, _ file: any SegmentFile, in ring: SegmentRing, library: String, compression: MCAPCompression,
    chunkByteCount: Int, blocks: MCAPBlocks?
  ) throws(MCAPError) {
    self.name = name
    self.file = file
    writer = try MCAPWriter(
      SegmentSink(file: file, ring: ring), header: MCAPHeader(library: library), compression: compression,
      chunkByteCount: chunkByteCount, blocks: blocks)
  }

  /// The maximum size of the file in bytes if the segment ends now.
  var finishedByteCount: UInt64 { writer.finishedByteCount }
  var isThere: Bool { file.isThere }
  /// Whether the disk has failed to store bytes that it had accepted. The contents of the file are then unknown.
  private(set) var isInDoubt = false
  /// The number of messages that would be lost if no write succeeded from now on.
  var unwrittenMessageCount: UInt64 { writer.messageCount - writtenMessageCount }
  /// The log time of the earliest message that the file has not received yet; `nil` if there is none.
  var bufferedSinceNanoseconds: UInt64? { writer.bufferedSinceNanoseconds }

  func add(_ metadata: [MCAPMetadata]) throws(MCAPError) {
    for metadata in metadata { try writer.add(metadata) }
  }

  func append(
    _ record: RecordQueue.Record, _ bytes: [UInt8], of channel: RecordedChannel
  ) throws(MCAPError) {
    let id = try channelID(Int(record.channel), channel)
    let before = writer.byteCount
    try writer.append(
      MCAPMessage(
        channelID: id, sequence: record.sequence, logTimeNanoseconds: record.logTimeNanoseconds,
        publishTimeNanoseconds: record.publishTimeNanoseconds, data: bytes[...]))
    // If the byte count has changed, the writer has written a full chunk, which does not contain this message.
    if writer.byteCount != before { writtenMessageCount = writer.handedMessageCount }
  }

  /// Ends the chunk at a block boundary, and returns once all bytes before the boundary are on the disk.
  ///
  /// - Parameter leavingFrom: the earliest log time that may wait for the next block
  func synchronize(leavingFrom logTimeNanoseconds: UInt64) throws(MCAPError) {
    guard isThere else { throw .system("the segment \(name) was removed", errno: ENOENT) }
    try writer.flushWholeBlocks(leavingFrom: logTimeNanoseconds)
    try toDisk { (file) throws(MCAPError) in try file.synchronize() }
  }

  private func toDisk(_ write: (any SegmentFile) throws(MCAPError) -> Void) throws(MCAPError) {
    do throws(MCAPError) {
      try write(file)
    } catch {
      isInDoubt = true
      throw error
    }
    writtenMessageCount = writer.handedMessageCount
  }

  /// Ends the file, and returns once it is on the disk.
  func finish() throws(MCAPError) {
    guard isThere else { throw .system("the segment \(name) was removed", errno: ENOENT) }
    try writer.finish()
    try toDisk { (file) throws(MCAPError) in try file.finish() }
  }

  private func channelID(_ index: Int, _ channel: RecordedChannel) throws(MCAPError) -> UInt16 {
    if index < channelIDs.count, channelIDs[index] != 0 { return channelIDs[index] }
    var schemaID: UInt16 = 0
    if let schema = channel.schema {
      if let known = schemaIDs[schema.name] {
        schemaID = known
      } else {
        schemaID = try writer.addSchema(name: schema.name, encoding: schema.encoding, data: Array(schema.text.utf8))
        schemaIDs[schema.name] = schemaID
      }
    }
    let id = try writer.addChannel(
      topic: channel.topic, messageEncoding: channel.messageEncoding, schemaID: schemaID)
    if index >= channelIDs.count {
      channelIDs.append(contentsOf: repeatElement(0, count: index + 1 - channelIDs.count))
    }
    channelIDs[index] = id
    return id
  }
}

/// Makes room for the writer's bytes, and then passes them to the file.
private struct SegmentSink: MCAPSink {
  let file: any SegmentFile
  let ring: SegmentRing

  mutating func append(_ bytes: UnsafeRawBufferPointer) throws(MCAPError) {
    try ring.makeRoom(for: file.growth(by: bytes.count))
    while true {
      do throws(MCAPError) {
        try file.append(bytes)
        return ring.wrote(bytes.count)
      } catch {
        guard ring.giveUpOldest(error) else { throw error }
      }
    }
  }
}
