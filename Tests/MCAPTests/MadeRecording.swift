import TestSupport

@testable import MCAP

/// A small recording with a variety of contents: two schemas, channels added after messages, log times out of order,
/// messages that are empty or end in zeros, an attachment, and metadata.
struct MadeRecording {
  var bytes: [UInt8]
  var messages: [MCAPMessage] = []

  /// - Parameter start: the first log time, in nanoseconds
  init(
    messageCount: Int = 24, chunkByteCount: Int = 300, start: UInt64 = 1_700_000_000_000_000_000,
    compression: MCAPCompression = .none, isFinished: Bool = true, blocks: MCAPBlocks? = nil
  ) throws {
    var writer = try MCAPWriter(
      MCAPBytes(), compression: compression, chunkByteCount: chunkByteCount, blocks: blocks)
    let fix = try writer.addSchema(name: "foxglove.LocationFix", encoding: "jsonschema", data: Array("{}".utf8))
    var channels = [try writer.addChannel(topic: "/fix", messageEncoding: "json", schemaID: fix)]
    try writer.add(MCAPMetadata(name: "board", entries: ["name": "pi", "empty": ""]))
    for index in 0..<messageCount {
      if index == messageCount / 3 {
        let raw = try writer.addSchema(name: "raw", encoding: "", data: [])
        channels.append(
          try writer.addChannel(topic: "/raw", messageEncoding: "nmea", schemaID: raw, metadata: ["port": "x"]))
      }
      if index == messageCount / 2 {
        channels.append(try writer.addChannel(topic: "/events", messageEncoding: "json"))
        try writer.add(
          MCAPAttachment(
            name: "calibration.json", mediaType: "application/json", logTimeNanoseconds: start, data: [1, 2, 3, 0, 0]))
      }
      // Every fifth message is late by more than a chunk.
      let time = start + UInt64(index) * 10 - (index % 5 == 4 ? 35 : 0)
      let data = (0..<index % 8).map { UInt8(index % 3 == 0 ? 0 : $0 + 1) }
      let message = MCAPMessage(
        channelID: channels[index % channels.count], sequence: UInt32(index), logTimeNanoseconds: time,
        publishTimeNanoseconds: time - 1, data: data[...])
      try writer.append(message)
      messages.append(message)
    }
    if isFinished { try writer.finish() } else { try writer.flush() }
    bytes = writer.sink.bytes
  }

  /// By log time, in the order in which a reader returns them.
  var sorted: [MCAPMessage] {
    messages.enumerated().sorted {
      ($0.element.logTimeNanoseconds, $0.offset) < ($1.element.logTimeNanoseconds, $1.offset)
    }.map(\.element)
  }

  /// The file offset at the end of each message's record, in file order.
  func messageEnds() throws -> [Int] {
    let reader = try MCAPReader(MCAPBytes(bytes))
    var ends: [Int] = []
    for part in reader.parts {
      let chunk = try part.load(reader.source, limit: bytes.count)
      var records = chunk.sequence
      while let record = try records.next() {
        if record.opcode == Opcode.message { ends.append(Int(chunk.offset) + record.content.upperBound) }
      }
    }
    return ends
  }
}

/// All messages that a reader returns.
func messages<Source: MCAPSource>(
  of reader: MCAPReader<Source>, in times: Range<UInt64>? = nil, channelIDs: Set<UInt16>? = nil,
  order: MCAPOrder = .logTime
) throws -> [MCAPMessage] {
  var cursor = reader.messages(in: times, channelIDs: channelIDs, order: order)
  var messages: [MCAPMessage] = []
  while let message = try cursor.next() { messages.append(message) }
  return messages
}

extension MCAPRepair {
  func applied(to bytes: [UInt8]) -> [UInt8] {
    var repaired = bytes.prefix(Int(keptByteCount)) + appendedBytes
    for part in leftOut {
      let start = MCAPRepair.stepOver(part)
      repaired.replaceSubrange(Int(part.lowerBound)..<Int(part.lowerBound) + start.count, with: start)
    }
    return Array(repaired)
  }
}

extension MCAPCompression {
  /// The compressions of the hub's recordings. `make fetch` installs the library of Zstandard.
  static let written: [MCAPCompression] = [.none, .zstd()]
}
