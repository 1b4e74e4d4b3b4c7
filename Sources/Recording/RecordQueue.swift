/// The messages that wait to be written, in a ring of bytes that is allocated once. If there is no room for another
/// message, the oldest ones are dropped and counted.
///
/// A message gets its number here, so that a dropped message leaves a gap in its channel's numbers.
struct RecordQueue: ~Copyable {
  /// The properties that are stored with the bytes of a message.
  struct Record: BitwiseCopyable {
    var byteCount: UInt32
    var sequence: UInt32
    var logTimeNanoseconds: UInt64
    var publishTimeNanoseconds: UInt64
    /// The number of the registered channel.
    var channel: UInt16
  }

  private var storage: [UInt8]
  /// The position of the oldest message.
  private var start = 0
  /// The size of all waiting messages, including their properties.
  private(set) var byteCount = 0
  private(set) var messageCount = 0
  /// The number of each channel's next message.
  private var nextSequences: [UInt32] = []

  init(capacity: Int) { storage = [UInt8](repeating: 0, count: max(capacity, RecordQueue.recordByteCount)) }

  private static let recordByteCount = MemoryLayout<Record>.size

  var capacity: Int { storage.count }
  var isEmpty: Bool { byteCount == 0 }

  mutating func addChannel() { nextSequences.append(0) }

  /// Copies a message.
  ///
  /// - Returns: the number of lost messages: the oldest ones, or this one if it is too large
  /// - Precondition: the channel has been added
  mutating func append(
    _ bytes: UnsafeRawBufferPointer, channel: Int, logTimeNanoseconds: UInt64, publishTimeNanoseconds: UInt64
  ) -> Int {
    let sequence = nextSequences[channel]
    nextSequences[channel] &+= 1
    let needed = RecordQueue.recordByteCount + bytes.count
    guard needed <= capacity else { return 1 }
    var lost = 0
    while capacity - byteCount < needed {
      drop()
      lost += 1
    }
    let record = Record(
      byteCount: UInt32(bytes.count), sequence: sequence, logTimeNanoseconds: logTimeNanoseconds,
      publishTimeNanoseconds: publishTimeNanoseconds, channel: UInt16(channel))
    withUnsafeBytes(of: record) { put($0) }
    put(bytes)
    messageCount += 1
    return lost
  }

  /// Removes the oldest message, and replaces the contents of `bytes` with it; `nil` if no message waits.
  mutating func take(into bytes: inout [UInt8]) -> Record? {
    guard !isEmpty else { return nil }
    let record = oldest
    skip(RecordQueue.recordByteCount)
    bytes.removeAll(keepingCapacity: true)
    let count = Int(record.byteCount)
    let first = min(count, capacity - start)
    bytes += storage[start..<start + first]
    bytes += storage[..<(count - first)]
    skip(count)
    messageCount -= 1
    return record
  }

  private var oldest: Record {
    withUnsafeTemporaryAllocation(of: Record.self, capacity: 1) { place in
      let raw = UnsafeMutableRawBufferPointer(place)
      let first = min(RecordQueue.recordByteCount, capacity - start)
      storage.withUnsafeBytes { storage in
        raw.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[start..<start + first]))
        let rest = RecordQueue.recordByteCount - first
        UnsafeMutableRawBufferPointer(rebasing: raw[first..<first + rest]).copyMemory(
          from: UnsafeRawBufferPointer(rebasing: storage[..<rest]))
      }
      // All bytes of the record have just been written, and any bytes form a valid record.
      return raw.load(as: Record.self)
    }
  }

  private mutating func drop() {
    skip(RecordQueue.recordByteCount + Int(oldest.byteCount))
    messageCount -= 1
  }

  private mutating func skip(_ count: Int) {
    start += count
    if start >= capacity { start -= capacity }
    byteCount -= count
  }

  private mutating func put(_ bytes: UnsafeRawBufferPointer) {
    let end = (start + byteCount) % capacity
    let first = min(bytes.count, capacity - end)
    storage.withUnsafeMutableBytes { storage in
      UnsafeMutableRawBufferPointer(rebasing: storage[end..<end + first]).copyMemory(
        from: UnsafeRawBufferPointer(rebasing: bytes[..<first]))
      let rest = bytes.count - first
      UnsafeMutableRawBufferPointer(rebasing: storage[..<rest]).copyMemory(
        from: UnsafeRawBufferPointer(rebasing: bytes[first..<first + rest]))
    }
    byteCount += bytes.count
  }
}
