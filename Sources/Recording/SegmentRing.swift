import MCAP
import MonotonicTime

/// The segments of one place and what they may take up together: the oldest make room for what is new.
///
/// One thread's, as all that follows from here on.
final class SegmentRing {
  private let store: any SegmentStore
  private let counters: RecordingCounters
  /// `nil` for none.
  let byteLimit: UInt64?
  /// What a segment has to be younger than to stay.
  private let ageLimit: Duration?
  /// All but the one that is being written, the oldest first.
  private var others: [StoredSegment] = []
  private var current: (name: String, byteCount: UInt64)?

  init(_ store: any SegmentStore, byteLimit: UInt64?, ageLimit: Duration?, counters: RecordingCounters) {
    self.store = store
    self.counters = counters
    self.byteLimit = byteLimit
    self.ageLimit = ageLimit
    look()
  }

  private var byteCount: UInt64 { others.reduce(current?.byteCount ?? 0) { $0 + $1.byteCount } }

  /// Looks what is there: others may have removed something, or a write may have failed halfway.
  func look() {
    others = store.segments.filter { $0.name != current?.name }
    count()
  }

  private func count() { counters.set(segmentCount: others.count + (current == nil ? 0 : 1)) }

  private func removeOldest() throws(MCAPError) {
    guard let oldest = others.first else { return }
    try store.remove(oldest.name)
    others.removeFirst()
    count()
  }

  /// Makes the next segment.
  func create(_ name: String) throws(MCAPError) -> any SegmentFile {
    current = nil
    look()
    let file = try store.create(name)
    current = (name, 0)
    others.removeAll { $0.name == name }
    count()
    return file
  }

  func has(_ name: String) -> Bool { others.contains { $0.name == name } }

  /// The last of those that are there.
  var newest: String? { others.last?.name }

  /// What was being written is one of the others now.
  func end() {
    current = nil
    look()
  }

  /// Has the oldest segments removed until there is room for so many bytes more.
  ///
  /// - Throws: if there is none; then nothing must be written
  func makeRoom(for count: Int) throws(MCAPError) {
    guard let byteLimit else { return }
    while byteCount + UInt64(count) > byteLimit {
      guard !others.isEmpty else {
        throw .tooLarge("the recording", byteCount: byteCount + UInt64(count), limit: byteLimit)
      }
      try removeOldest()
    }
  }

  /// Bytes have been added to the present segment.
  func added(_ count: Int) {
    current?.byteCount += UInt64(count)
    counters.wrote(byteCount: count)
  }

  /// Removes the segments in which all is too old.
  ///
  /// - Parameter now: by the system clock. Where that has not been set yet, after the start of a board without a clock, nothing
  ///   seems old, and nothing is removed.
  func removeOld(nanosecondsSince1970 now: Int64) throws(MCAPError) {
    guard let ageLimit = ageLimit?.inNanoseconds else { return }
    while let oldest = others.first, now - oldest.writtenNanosecondsSince1970 > ageLimit {
      try removeOldest()
    }
  }
}
