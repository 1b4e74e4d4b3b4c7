import Glibc
import MCAP

/// The segment that is being written.
///
/// The channels are numbered anew in each: it contains those that have messages in it, and can be read without the
/// others.
final class Segment {
  let name: String
  private let file: any SegmentFile
  private var writer: MCAPWriter<SegmentSink>
  /// By the number under which a channel was registered; 0 for one that has said nothing here.
  private var channelIDs: [UInt16] = []
  private var schemaIDs: [String: UInt16] = [:]
  /// As many messages as surely have reached the file.
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

  /// Its maximum size if it is ended now.
  var finishedByteCount: UInt64 { writer.finishedByteCount }
  var isThere: Bool { file.isThere }
  /// Whether the disk has failed to store accepted bytes: the contents of the file are unknown.
  private(set) var isInDoubt = false
  /// The messages that are lost if nothing more can be written.
  var unwrittenMessageCount: UInt64 { writer.messageCount - writtenMessageCount }
  /// The log time of the earliest message that was kept for the next block; `nil` if none was.
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
    // A chunk that was full went before the message was taken.
    if writer.byteCount != before { writtenMessageCount = writer.handedMessageCount }
  }

  /// Ends the chunk where it fills its last block, and returns once everything before that is on the disk.
  ///
  /// - Parameter leavingFrom: the earliest log time that may be kept for the next block
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

/// Where the writer's bytes go: into the file, once there is room for them.
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
