import Glibc
import MCAP
import MonotonicTime

/// The segments of one folder, with limits for their total size, age and number. The oldest segments are removed or
/// overwritten to make room for new ones.
///
/// It must be used on one thread only.
final class SegmentRing {
  private let store: any SegmentStore
  private let limits: RecordingLimits
  private let counters: RecordingCounters
  private let tell: (RecorderEvent) -> Void
  /// All segments except the one that is being written, the oldest first.
  private var others: [StoredSegment] = []
  private var current: (name: String, file: any SegmentFile)?
  private var ages: SegmentAges
  /// The segment that was last overwritten.
  private(set) var recycled: String?

  init(
    _ store: any SegmentStore, limits: RecordingLimits, time: RecordingTime, counters: RecordingCounters,
    tell: @escaping (RecorderEvent) -> Void
  ) {
    self.store = store
    self.limits = limits
    self.counters = counters
    self.tell = tell
    ages = SegmentAges(time)
    look()
  }

  private var byteCount: UInt64 { others.reduce(current?.file.takenByteCount ?? 0) { $0 + $1.byteCount } }

  /// Lists the existing segments again. Other programs may have removed some, and a write may have failed midway.
  func look() {
    let segments = store.segments
    ages.look(at: segments)
    others = segments.filter { $0.name != current?.name }
    count()
  }

  private func count() { counters.set(segmentCount: others.count + (current == nil ? 0 : 1)) }

  /// The oldest segment that no other hub is writing.
  private var oldest: StoredSegment? { others.first { !store.isHeld($0.name) } }

  private func remove(_ segment: StoredSegment) throws(MCAPError) {
    try store.remove(segment.name)
    others.removeAll { $0.name == segment.name }
    count()
  }

  /// Starts the next segment. It overwrites the oldest one if a limit (size, age or number) is reached, or the disk is
  /// full.
  func begin(_ name: String) throws(MCAPError) -> any SegmentFile {
    current = nil
    recycled = nil
    look()
    let file: any SegmentFile
    if let old = try makeWay() {
      recycled = old.name
      if let recycled = try store.recycle(old.name, as: name, limit: limits.segmentByteLimit) {
        file = recycled
      } else {
        try remove(old)
        file = try store.create(name, limit: limits.segmentByteLimit)
      }
      others.removeAll { $0.name == old.name }
    } else {
      file = try store.create(name, limit: limits.segmentByteLimit)
    }
    current = (name, file)
    others.removeAll { $0.name == name }
    count()
    return file
  }

  /// Removes the oldest segments until overwriting one more makes enough room.
  ///
  /// - Returns: the segment to overwrite; `nil` if there is room without overwriting one
  private func makeWay() throws(MCAPError) -> StoredSegment? {
    guard let byteLimit = limits.byteLimit, let next = limits.segmentByteLimit else { return nil }
    while let oldest {
      let free = others.count > 1 ? store.freeByteCount ?? .max : .max
      if byteCount + next <= byteLimit, others.count < limits.segmentCountLimit, free >= next,
        !isOld(oldest, within: limits.segmentAgeLimit.map { $0 / 8 } ?? .zero)
      {
        return nil
      }
      let isEnough =
        byteCount - oldest.byteCount + next <= byteLimit && others.count <= limits.segmentCountLimit
        && free >= next - min(next, oldest.byteCount)
      if isEnough { return oldest }
      try remove(oldest)
    }
    return nil
  }

  func has(_ name: String) -> Bool { others.contains { $0.name == name } }

  /// The newest segment, apart from the one that is being written.
  var newest: String? { others.last?.name }

  /// Adds the segment that has ended to the others.
  func end() {
    if let current { ages.wrote(current.name) }
    current = nil
    look()
  }

  /// Removes the oldest segments until the present one may grow by this number of bytes.
  ///
  /// - Throws: if no segment is left to remove; then nothing must be written
  func makeRoom(for growth: UInt64) throws(MCAPError) {
    guard let byteLimit = limits.byteLimit, growth > 0 else { return }
    while byteCount + growth > byteLimit {
      guard let oldest else {
        throw .tooLarge("the recording", byteCount: byteCount + growth, limit: byteLimit)
      }
      try remove(oldest)
    }
  }

  /// Removes the oldest segment if the error says that the disk is full, but never the only one besides the present
  /// segment.
  ///
  /// - Returns: whether a segment was removed
  func giveUpOldest(_ error: MCAPError) -> Bool {
    switch error {
    case .system(_, ENOSPC), .system(_, EDQUOT): break
    default: return false
    }
    guard others.count > 1, let oldest, (try? remove(oldest)) != nil else { return false }
    tell(.removedForRoom(segment: oldest.name))
    return true
  }

  /// Counts bytes that were added to the present segment.
  func wrote(_ count: Int) { counters.wrote(byteCount: count) }

  /// Removes the segments whose contents are all too old.
  func removeOld() throws(MCAPError) {
    if ages.hasClockJumped() {
      // Correct the times of the files, because later readers, such as the next hub, use them as the ages of the
      // segments.
      for other in others where !store.isHeld(other.name) {
        guard let written = ages.writtenNanosecondsSince1970(other.name) else { continue }
        store.setWritten(other.name, nanosecondsSince1970: written)
      }
      look()
    }
    while let oldest, isOld(oldest) { try remove(oldest) }
  }

  private func isOld(_ segment: StoredSegment, within margin: Duration = .zero) -> Bool {
    limits.ageLimit.map { ages.age(of: segment.name) > $0 - margin } ?? false
  }
}
