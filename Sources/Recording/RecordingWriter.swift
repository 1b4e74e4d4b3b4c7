import Glibc
import MCAP
import MonotonicTime

/// Writes what is in the inbox into segments, and says when it has to be called again. Knows no thread and never waits but for
/// the disk, so that a test can take its place.
struct RecordingWriter {
  enum Pause: Equatable {
    /// All is written: until something comes, however long that takes.
    case rest
    case until(MonotonicInstant)
  }

  private static let firstBackoff = Duration.seconds(1)
  /// Not much more than the queue holds.
  private static let longestBackoff = Duration.seconds(10)

  private let inbox: RecordInbox
  private let store: any SegmentStore
  private let time: RecordingTime
  private let limits: RecordingLimits
  private let library: String
  private let ring: SegmentRing

  private var hasBegun = false
  private var hasToldBeginning = false
  private var segment: Segment?
  private var segmentNumber = 0
  private var segmentBeganAt = MonotonicInstant(nanoseconds: 0)
  private var writtenMetadataRevision = 0
  /// Taken from the inbox and not written yet; its bytes are in `bytes`.
  private var pending: (record: RecordQueue.Record, channel: RecordedChannel)?
  private var bytes: [UInt8] = []
  /// When what was written has to be on the disk; `nil` where all is.
  private var synchronizeAt: MonotonicInstant?
  private var failure: (retryAt: MonotonicInstant, backoff: Duration)?
  /// Segments that were given up after an error, and are to be made whole.
  private var unfinished: [String] = []

  init(
    _ inbox: RecordInbox, to store: any SegmentStore, limits: RecordingLimits, time: RecordingTime, library: String,
    counters: RecordingCounters
  ) {
    self.inbox = inbox
    self.store = store
    self.limits = limits
    self.time = time
    self.library = library
    ring = SegmentRing(store, byteLimit: limits.byteLimit, ageLimit: limits.ageLimit, counters: counters)
  }

  /// Does what is due.
  mutating func turn() -> Pause {
    begin()
    let now = time.clock.now
    if let failure, now < failure.retryAt { return .until(failure.retryAt) }
    guard hasWork() else { return pause(now) }
    do throws(MCAPError) {
      try drain(now)
      // Whether the disk takes something again is found out by writing to it.
      if let synchronizeAt, now >= synchronizeAt || failure != nil { try synchronize() }
    } catch {
      fail(error, now)
      return inbox.rest() ? .rest : .until(failure?.retryAt ?? now)
    }
    return pause(now)
  }

  /// Writes all that is left, and ends the file.
  mutating func finish() {
    begin()
    guard hasWork() else { return }
    let now = time.clock.now
    do throws(MCAPError) {
      try drain(now)
      try endSegment()
      over()
    } catch {
      fail(error, now)
    }
  }

  /// Looks into the inbox. For lines of the log alone no file is made, unless somebody waits for one.
  private func hasWork() -> Bool {
    inbox.attend() || limits.isOneFile || segment != nil || pending != nil || failure != nil
  }

  private func pause(_ now: MonotonicInstant) -> Pause {
    if let synchronizeAt { return .until(synchronizeAt) }
    return inbox.rest() ? .rest : .until(now)
  }

  /// Makes whole what a hub before this one left.
  private mutating func begin() {
    guard !hasBegun else { return }
    hasBegun = true
    // All of them: a repair may have failed for want of room. Of those that are whole the end is looked at, and no more.
    for segment in store.segments where !store.isHeld(segment.name) {
      do throws(MCAPError) {
        let repair = try store.repair(segment.name)
        if repair.isNeeded {
          inbox.tell(
            .repaired(segment: segment.name, messageCount: repair.messageCount, lostByteCount: repair.lostByteCount))
        }
      } catch {
        inbox.tell(.notRepaired(segment: segment.name, error))
      }
    }
  }

  private mutating func drain(_ now: MonotonicInstant) throws(MCAPError) {
    if let segment { try addMetadata(to: segment) }
    if segment == nil, limits.isOneFile { try open(now) }
    while true {
      if pending == nil { pending = inbox.take(into: &bytes) }
      guard let pending else { return }
      if let segment, isFull(segment, now) { try endSegment() }
      if segment == nil { try open(now) }
      try segment?.append(pending.record, bytes, of: pending.channel)
      self.pending = nil
      if synchronizeAt == nil { synchronizeAt = now + limits.synchronizeInterval }
    }
  }

  private func isFull(_ segment: Segment, _ now: MonotonicInstant) -> Bool {
    limits.segmentByteLimit.map { segment.byteCount + UInt64(bytes.count) > $0 } ?? false
      || limits.segmentAgeLimit.map { now - segmentBeganAt > $0 } ?? false
  }

  private mutating func open(_ now: MonotonicInstant) throws(MCAPError) {
    let started = time.systemNanosecondsSince1970
    try ring.removeOld(nanosecondsSince1970: started)
    var name: String
    repeat {
      segmentNumber += 1
      name = SegmentName.make(nanosecondsSince1970: started, number: segmentNumber, after: ring.newest)
    } while ring.has(name)
    do throws(MCAPError) {
      let file = try ring.create(name)
      let new = try Segment(name, file, in: ring, library: library, chunkByteCount: limits.chunkByteLimit)
      segmentBeganAt = now
      writtenMetadataRevision = 0
      try addMetadata(to: new)
      if !hasToldBeginning { inbox.tell(.began(segment: name)) }
      hasToldBeginning = true
      segment = new
    } catch {
      // What it is, if it is there at all, is no segment.
      try? store.remove(name)
      ring.end()
      throw error
    }
    if !unfinished.isEmpty {
      unfinished = unfinished.filter { (try? store.repair($0)) == nil }
      ring.look()
    }
  }

  private mutating func addMetadata(to segment: Segment) throws(MCAPError) {
    let metadata = inbox.metadata
    guard metadata.revision != writtenMetadataRevision else { return }
    try segment.add(metadata.records)
    writtenMetadataRevision = metadata.revision
  }

  private mutating func synchronize() throws(MCAPError) {
    try segment?.synchronize()
    synchronizeAt = nil
    try ring.removeOld(nanosecondsSince1970: time.systemNanosecondsSince1970)
    over()
  }

  private mutating func endSegment() throws(MCAPError) {
    guard let segment else { return }
    try segment.finish()
    self.segment = nil
    synchronizeAt = nil
    ring.end()
  }

  /// All that was taken is on the disk.
  private mutating func over() {
    if failure != nil { inbox.tell(.recovered) }
    failure = nil
    if let lost = inbox.takeLost() { inbox.tell(.lost(messageCount: lost)) }
  }

  private mutating func fail(_ error: MCAPError, _ now: MonotonicInstant) {
    if failure == nil { inbox.tell(.failed(error)) }
    if let segment, segment.isInDoubt || !RecordingWriter.mayPass(error) {
      unfinished.append(segment.name)
      let lost = Int(segment.unwrittenMessageCount)
      self.segment = nil
      synchronizeAt = nil
      ring.end()
      inbox.lose(lost)
    }
    let backoff = failure.map { min($0.backoff * 2, RecordingWriter.longestBackoff) } ?? RecordingWriter.firstBackoff
    failure = (now + backoff, backoff)
  }

  /// Whether the same file can be gone on with once there is room again. After any other error it is not known what is on the
  /// disk.
  private static func mayPass(_ error: MCAPError) -> Bool {
    switch error {
    case .system(_, ENOSPC), .system(_, EDQUOT), .tooLarge: true
    default: false
    }
  }
}
