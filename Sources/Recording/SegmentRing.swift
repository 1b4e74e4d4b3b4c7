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

  /// Removes the oldest segment if the error says that the disk is full. At least one segment besides the present one
  /// always stays.
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

  /// Removes the segments in which every message is too old.
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

/// The ages of segments. They do not depend on changes of the system clock.
///
/// The time of a segment's file is read once; from then on, the age follows the monotonic clock and includes suspends.
/// No segment counts as older than the previous one, even if a board without a real-time clock wrote it with a date in
/// 1970.
struct SegmentAges {
  /// The system clock counts as set if it changes by this much. Smaller changes are corrections.
  private static let smallestJump = Duration.seconds(10)

  private let time: RecordingTime
  /// When each segment was last written to, by the time of its file. A segment whose file has a time in the future has
  /// no entry until the system clock is set.
  private var writtenAt: [String: MonotonicInstant] = [:]
  /// When each segment was written, corrected so that none was written before the previous one.
  private var orderedAt: [String: MonotonicInstant] = [:]
  /// How far the system clock is ahead of the monotonic clock plus the time of all suspends.
  private var lead: Int64

  init(_ time: RecordingTime) {
    self.time = time
    lead = SegmentAges.lead(time)
  }

  private static func lead(_ time: RecordingTime) -> Int64 {
    time.systemNanosecondsSince1970 &- time.nowWithSuspends.nanoseconds
  }

  /// Records the present segments, the oldest first, and forgets all others.
  mutating func look(at segments: [StoredSegment]) {
    let now = time.nowWithSuspends
    let systemNow = time.systemNanosecondsSince1970
    var known: [String: MonotonicInstant] = [:]
    var ordered: [String: MonotonicInstant] = [:]
    var before = MonotonicInstant(nanoseconds: .min)
    for segment in segments {
      let age = systemNow &- segment.writtenNanosecondsSince1970
      // Some file systems store times less exactly than the clock.
      let isFromFuture = age < -SegmentAges.smallestJump.inNanoseconds
      let own = isFromFuture ? nil : now.advanced(by: .zero - .nanoseconds(max(0, age)))
      guard let at = writtenAt[segment.name] ?? own else { continue }
      before = max(before, at)
      known[segment.name] = at
      ordered[segment.name] = before
    }
    writtenAt = known
    orderedAt = ordered
  }

  /// Records that a segment has just been written to.
  mutating func wrote(_ name: String) {
    writtenAt[name] = time.nowWithSuspends
    orderedAt[name] = time.nowWithSuspends
  }

  /// The age of a segment; zero if its time is in the future.
  func age(of name: String) -> Duration { orderedAt[name].map { time.nowWithSuspends - $0 } ?? .zero }

  /// When a segment was written, by the present clock; `nil` if its time is in the future.
  func writtenNanosecondsSince1970(_ name: String) -> Int64? {
    orderedAt[name] == nil ? nil : max(0, time.systemNanosecondsSince1970 &- age(of: name).inNanoseconds)
  }

  /// Whether the system clock has been set since the last call.
  mutating func hasClockJumped() -> Bool {
    let now = SegmentAges.lead(time)
    defer { lead = now }
    return (now &- lead).magnitude > UInt64(SegmentAges.smallestJump.inNanoseconds)
  }
}

/// The names of segments, from their beginning: `sensorhub-20261122T211439Z-001.mcap`. Sorted by name, the oldest
/// segment is first.
enum SegmentName {
  /// A number with this many digits fits into an `Int`.
  private static let mostDigits = 18

  /// - Parameter number: the number of the segment in its recording
  static func make(nanosecondsSince1970: Int64, number: Int) -> String {
    "sensorhub-\(UTCStamp(nanosecondsSince1970: nanosecondsSince1970).basic)-\(UTCStamp.padded(number, to: 3)).mcap"
  }

  /// A name that is sorted after another one, even if the clock is behind. Otherwise the newest segment could be sorted
  /// first, and would then be the first to be removed.
  static func make(nanosecondsSince1970: Int64, number: Int, after newest: String?) -> String {
    let name = make(nanosecondsSince1970: nanosecondsSince1970, number: number)
    guard let newest, name <= newest, let end = newest.lastIndex(of: "-") else { return name }
    let digits = newest[newest.index(after: end)...].prefix { $0.isNumber }
    // The successor of 999 is 9990, because names are sorted by character.
    let isFull = digits.allSatisfy { $0 == "9" }
    // A name that a hub could not have given stays the newest.
    if isFull, digits.count == mostDigits { return name }
    let next = isFull ? digits + "0" : Substring(UTCStamp.padded((Int(digits) ?? 0) + 1, to: digits.count))
    return "\(newest[...end])\(next).mcap"
  }

  /// Whether a file is a segment of a hub. The check is strict, because such files are removed to make room.
  static func isOne(_ name: String) -> Bool {
    let parts = name.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].elementsEqual("sensorhub".utf8), parts[2].suffix(5).elementsEqual(".mcap".utf8)
    else { return false }
    let stamp = Array(parts[1])
    let number = parts[2].dropLast(5)
    func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    return stamp.count == 16 && stamp[..<8].allSatisfy(isDigit) && stamp[8] == UInt8(ascii: "T")
      && stamp[9..<15].allSatisfy(isDigit) && stamp[15] == UInt8(ascii: "Z") && (3...mostDigits).contains(number.count)
      && number.allSatisfy(isDigit)
  }
}
