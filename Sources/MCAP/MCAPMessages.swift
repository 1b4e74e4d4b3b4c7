/// The messages that a reader was asked for, one after the other.
///
/// In the order of log times all chunks that overlap are in memory together; a file in which more of them do than the reader may
/// hold has to be read in its own order.
public struct MCAPMessages<Source: MCAPSource> {
  private let source: Source
  private let channels: Set<UInt16>
  private let times: Range<UInt64>?
  private let wanted: Set<UInt16>?
  private let order: MCAPOrder
  private let limit: Int
  /// What has not been loaded yet, the next one last.
  private var pending: [Part]
  private var loaded: [LoadedMessages] = []
  private var skipped: (channelIDs: Set<UInt16>, before: UInt64) = ([], 0)

  /// The matching messages of one chunk.
  private struct LoadedMessages {
    struct Place {
      var logTimeNanoseconds: UInt64
      var content: Range<Int>
    }

    let chunk: LoadedChunk
    var places: [Place] = []
    var next = 0
  }

  init(
    _ reader: MCAPReader<Source>, _ times: Range<UInt64>?, _ wanted: Set<UInt16>?, _ order: MCAPOrder
  ) {
    source = reader.source
    channels = Set(reader.summary.channels.keys)
    self.times = times
    self.wanted = wanted
    self.order = order
    limit = reader.limit
    pending = reader.parts.filter { part in
      if let times, part.endTimeNanoseconds < times.lowerBound || part.startTimeNanoseconds >= times.upperBound {
        return false
      }
      guard let wanted, !part.channelIDs.isEmpty else { return true }
      return part.channelIDs.contains(where: wanted.contains)
    }
    switch order {
    case .file: pending.sort { $0.offset > $1.offset }
    case .logTime:
      pending.sort { ($0.startTimeNanoseconds, $0.offset) > ($1.startTimeNanoseconds, $1.offset) }
    }
  }

  /// Messages of these channels are of no use before a log time: chunks that have no others are not read from here on. Some may
  /// come all the same, out of chunks that have.
  public mutating func skip(_ channelIDs: Set<UInt16>, beforeNanoseconds logTime: UInt64) {
    skipped = (channelIDs, logTime)
  }

  private func isSkipped(_ part: Part) -> Bool {
    guard part.endTimeNanoseconds < skipped.before, !part.channelIDs.isEmpty else { return false }
    return part.channelIDs.allSatisfy { skipped.channelIDs.contains($0) || wanted?.contains($0) == false }
  }

  /// The next message; `nil` after the last one.
  ///
  /// - Throws: if a chunk is damaged, or compressed in a way that is not read here; the call after that goes on behind it.
  public mutating func next() throws(MCAPError) -> MCAPMessage? {
    while true {
      let first = indexOfFirst()
      if let part = pending.last, first.map({ mustLoad(part, before: loaded[$0]) }) ?? true {
        pending.removeLast()
        if isSkipped(part) { continue }
        try load(part)
        continue
      }
      guard let first else { return nil }
      let place = loaded[first].places[loaded[first].next]
      let chunk = loaded[first].chunk
      loaded[first].next += 1
      if loaded[first].next == loaded[first].places.count { loaded.remove(at: first) }
      var fields = chunk.reader("message", content: place.content)
      return try MCAPMessage(&fields, of: chunk.bytes)
    }
  }

  /// Where the next message is among what is loaded: of those with the same time the first in the file.
  private func indexOfFirst() -> Int? {
    guard loaded.count > 1 else { return loaded.indices.first }
    return loaded.indices.min { first, second in
      let left = loaded[first]
      let right = loaded[second]
      let leftTime = left.places[left.next].logTimeNanoseconds
      let rightTime = right.places[right.next].logTimeNanoseconds
      return (leftTime, left.chunk.offset) < (rightTime, right.chunk.offset)
    }
  }

  private func mustLoad(_ part: Part, before first: LoadedMessages) -> Bool {
    order == .logTime && part.startTimeNanoseconds <= first.places[first.next].logTimeNanoseconds
  }

  private mutating func load(_ part: Part) throws(MCAPError) {
    let held = loaded.reduce(0) { $0 + $1.chunk.bytes.count }
    let byteCount = UInt64(held).adding(part.byteCount)?.adding(part.decompressedByteCount) ?? .max
    guard byteCount <= UInt64(limit) else {
      throw .tooLarge("chunks that overlap in time", byteCount: byteCount, limit: UInt64(limit))
    }
    // What the index says of a chunk need not be so.
    let chunk = try part.load(source, limit: limit - held)
    var messages = LoadedMessages(chunk: chunk)
    var isSorted = true
    var records = chunk.sequence
    while let record = try records.next() {
      guard record.opcode == Opcode.message else { continue }
      var fields = records.reader("message", record)
      let message = try MCAPMessage(&fields, of: chunk.bytes)
      guard channels.contains(message.channelID) else { throw .unknown("channel", id: message.channelID) }
      let time = message.logTimeNanoseconds
      guard wanted?.contains(message.channelID) ?? true, times?.contains(time) ?? true else { continue }
      if let last = messages.places.last, last.logTimeNanoseconds > time { isSorted = false }
      messages.places.append(LoadedMessages.Place(logTimeNanoseconds: time, content: record.content))
    }
    if messages.places.isEmpty { return }
    if order == .logTime, !isSorted {
      messages.places.sort {
        ($0.logTimeNanoseconds, $0.content.lowerBound) < ($1.logTimeNanoseconds, $1.content.lowerBound)
      }
    }
    loaded.append(messages)
  }
}

extension MCAPMessages: Sendable where Source: Sendable {}
