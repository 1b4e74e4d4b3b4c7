/// The reading times of the bytes in a buffer, in stretches. Delayed bytes keep the time of their own read.
struct ReadTimes: Sendable {
  private struct Stretch: Sendable {
    /// The index after the last byte of the stretch.
    var end: Int
    var readAt: Int64
  }

  /// The maximum number of stretches, for a line that is read byte by byte. If there are more stretches, the oldest are
  /// joined in pairs.
  private static let mostStretches = 1024

  private var stretches: [Stretch] = []
  /// The reading time of the byte before the buffer.
  private var before: Int64?

  init() { stretches.reserveCapacity(ReadTimes.mostStretches) }

  /// Returns the duration without bytes before a read that begins the buffer, and records this read as the last one.
  @inline(__always)
  mutating func silence(beforeRead readAt: Int64) -> Int64 {
    let silence = before.map { readAt - $0 } ?? 0
    before = readAt
    return silence
  }

  mutating func append(_ count: Int, readAt: Int64) {
    guard count > 0 else { return }
    if stretches.count == ReadTimes.mostStretches { join() }
    stretches.append(Stretch(end: (stretches.last?.end ?? 0) + count, readAt: readAt))
  }

  private mutating func join() {
    var kept = 0
    for index in stride(from: 0, to: stretches.count, by: 2) {
      // A stretch has the time of its first byte.
      stretches[kept] = Stretch(
        end: stretches[min(index + 1, stretches.count - 1)].end, readAt: stretches[index].readAt)
      kept += 1
    }
    stretches.removeLast(stretches.count - kept)
  }

  mutating func removeFirst(_ count: Int) {
    guard count > 0 else { return }
    var gone = 0
    while gone < stretches.count, stretches[gone].end <= count {
      before = stretches[gone].readAt
      gone += 1
    }
    // If a stretch is cut, its first part is removed too.
    let begins = gone > 0 ? stretches[gone - 1].end : 0
    if gone < stretches.count, begins < count { before = stretches[gone].readAt }
    stretches.removeFirst(gone)
    for index in stretches.indices { stretches[index].end -= count }
  }

  /// The reading time of a byte, the end of the bytes of the same read, and the duration without bytes before it.
  ///
  /// - Parameter cursor: the cursor of the previous search, for an index that was not greater; initially 0
  @inline(__always)
  func stretch(at index: Int, _ cursor: inout Int) -> (readAt: Int64, end: Int, silence: Int64) {
    while cursor < stretches.count - 1, stretches[cursor].end <= index { cursor += 1 }
    guard cursor < stretches.count else { return (before ?? 0, index, 0) }
    let stretch = stretches[cursor]
    let begins = cursor > 0 ? stretches[cursor - 1].end : 0
    let previous = index > begins ? stretch.readAt : cursor > 0 ? stretches[cursor - 1].readAt : before
    return (stretch.readAt, stretch.end, stretch.readAt - (previous ?? stretch.readAt))
  }
}
