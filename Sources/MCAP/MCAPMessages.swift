/// The requested messages of a file, one after another.
///
/// In log-time order, all overlapping chunks are in memory at the same time. If they exceed the reader's memory limit,
/// read the file in file order instead.
public struct MCAPMessages<Source: MCAPSource> {
  private let source: Source
  private let channels: Set<UInt16>
  private let times: Range<UInt64>?
  private let wanted: Set<UInt16>?
  private let order: MCAPOrder
  private let limit: Int
  /// The parts that have not been loaded; the next one is last.
  private var pending: [Part]
  /// The loaded parts, in a binary heap ordered by the next message of each part. A file may have any number of
  /// overlapping chunks.
  private var loaded: [LoadedMessages] = []
  /// The size of all loaded chunks.
  private var heldByteCount = 0
  private var skipped: (channelIDs: Set<UInt16>, before: UInt64) = ([], 0)

  /// The matching messages of one part.
  private struct LoadedMessages {
    struct Location {
      var logTimeNanoseconds: UInt64
      var content: Range<Int>
    }

    let chunk: LoadedChunk
    var places: [Location] = []
    var next = 0

    var nextLogTimeNanoseconds: UInt64 { places[next].logTimeNanoseconds }
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

  /// Marks the messages of some channels before a log time as irrelevant. From now on, chunks are not read if the
  /// summary shows that they contain only irrelevant messages. Irrelevant messages in other chunks are still returned.
  public mutating func skip(_ channelIDs: Set<UInt16>, beforeNanoseconds logTime: UInt64) {
    skipped = (channelIDs, logTime)
  }

  private func isSkipped(_ part: Part) -> Bool {
    guard part.endTimeNanoseconds < skipped.before, !part.channelIDs.isEmpty else { return false }
    return part.channelIDs.allSatisfy { skipped.channelIDs.contains($0) || wanted?.contains($0) == false }
  }

  /// Returns the next message, or `nil` after the last one.
  ///
  /// - Throws: if a chunk cannot be read, is damaged, exceeds the memory limit, or has a compression that is not
  ///   supported; the next call continues after that chunk
  public mutating func next() throws(MCAPError) -> MCAPMessage? {
    while true {
      if let part = pending.last, loaded.first.map({ mustLoad(part, before: $0) }) ?? true {
        pending.removeLast()
        if isSkipped(part) { continue }
        try load(part)
        continue
      }
      guard let first = loaded.first else { return nil }
      let place = first.places[first.next]
      let chunk = first.chunk
      loaded[0].next += 1
      if loaded[0].next == loaded[0].places.count {
        heldByteCount -= chunk.bytes.count
        loaded.swapAt(0, loaded.count - 1)
        loaded.removeLast()
      }
      moveDown()
      var fields = chunk.reader("message", content: place.content)
      return try MCAPMessage(&fields, of: chunk.bytes)
    }
  }

  /// Compares two parts by their next messages. Messages with equal log times are ordered by file offset.
  private func isBefore(_ first: Int, _ second: Int) -> Bool {
    let (time, other) = (loaded[first].nextLogTimeNanoseconds, loaded[second].nextLogTimeNanoseconds)
    return time == other ? loaded[first].chunk.offset < loaded[second].chunk.offset : time < other
  }

  /// Restores the heap after the next message of its first element has changed.
  private mutating func moveDown() {
    var index = 0
    while 2 * index + 1 < loaded.count {
      var child = 2 * index + 1
      if child + 1 < loaded.count, isBefore(child + 1, child) { child += 1 }
      guard isBefore(child, index) else { return }
      loaded.swapAt(index, child)
      index = child
    }
  }

  /// Restores the heap after an element was appended.
  private mutating func moveUp() {
    var index = loaded.count - 1
    while index > 0, isBefore(index, (index - 1) / 2) {
      loaded.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  private func mustLoad(_ part: Part, before first: LoadedMessages) -> Bool {
    order == .logTime && part.startTimeNanoseconds <= first.nextLogTimeNanoseconds
  }

  private mutating func load(_ part: Part) throws(MCAPError) {
    let byteCount = UInt64(heldByteCount).adding(part.byteCount)?.adding(part.decompressedByteCount) ?? .max
    guard byteCount <= UInt64(limit) else {
      throw .tooLarge("chunks that overlap in time", byteCount: byteCount, limit: UInt64(limit))
    }
    // The sizes in the index may be wrong, so the limit applies to loading too.
    let chunk = try part.load(source, limit: limit - heldByteCount)
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
      messages.places.append(LoadedMessages.Location(logTimeNanoseconds: time, content: record.content))
    }
    if messages.places.isEmpty { return }
    if order == .logTime, !isSorted {
      messages.places.sort {
        ($0.logTimeNanoseconds, $0.content.lowerBound) < ($1.logTimeNanoseconds, $1.content.lowerBound)
      }
    }
    heldByteCount += chunk.bytes.count
    loaded.append(messages)
    moveUp()
  }
}

extension MCAPMessages: Sendable where Source: Sendable {}

/// The order in which messages are read.
public enum MCAPOrder: Sendable {
  /// By log time; messages with equal log times in file order.
  case logTime
  case file
}
