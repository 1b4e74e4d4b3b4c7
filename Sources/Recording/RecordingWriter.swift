import Glibc
import MCAP
import MonotonicTime

/// Writes what is in the inbox into segments, and says when it has to be called again. Knows no thread and never waits but for
/// the disk, so that a test can take its place.
struct RecordingWriter {
  enum Pause: Equatable {
    /// All is written: until something comes, however long that takes; a segment that is to be ended by then sets a limit.
    case rest(until: MonotonicInstant?)
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
  /// When something last came that was to be written.
  private var lastWantedAt = MonotonicInstant(nanoseconds: 0)
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
    ring = SegmentRing(store, limits: limits, time: time, counters: counters) { inbox.tell($0) }
  }

  /// Does what is due.
  mutating func turn() -> Pause {
    begin()
    let now = time.clock.now
    if let failure, now < failure.retryAt { return .until(failure.retryAt) }
    guard hasWork(now) else { return pause(now) }
    do throws(MCAPError) {
      try drain(now)
      if segment != nil, let restsAt, now >= restsAt {
        try endSegment()
        over()
      }
      // Whether the disk takes something again is found out by writing to it.
      if let synchronizeAt, now >= synchronizeAt || failure != nil { try synchronize(now) }
    } catch {
      fail(error, now)
      return inbox.rest() ? .rest(until: nil) : .until(failure?.retryAt ?? now)
    }
    return pause(now)
  }

  /// Writes all that is left, and ends the file.
  mutating func finish() {
    begin()
    let now = time.clock.now
    guard hasWork(now) else { return }
    do throws(MCAPError) {
      try drain(now)
      try endSegment()
      over()
    } catch {
      fail(error, now)
      // A file that could be gone on with has these still in memory.
      inbox.giveUp(besides: (pending == nil ? 0 : 1) + Int(segment?.unwrittenMessageCount ?? 0))
    }
  }

  /// Looks into the inbox. For lines of the log alone no file is made, unless somebody waits for one.
  private mutating func hasWork(_ now: MonotonicInstant) -> Bool {
    let isFresh = inbox.attend()
    if isFresh { lastWantedAt = now }
    return isFresh || limits.isOneFile || segment != nil || pending != nil || failure != nil
  }

  private func pause(_ now: MonotonicInstant) -> Pause {
    if let synchronizeAt { return .until(synchronizeAt) }
    guard inbox.rest() else { return .until(now) }
    return .rest(until: segment == nil ? nil : restsAt)
  }

  /// When the segment is ended if nothing comes; a file for somebody who waits for it is not.
  private var restsAt: MonotonicInstant? { limits.isOneFile ? nil : lastWantedAt + limits.restLimit }

  /// Makes whole what a hub before this one left.
  private mutating func begin() {
    guard !hasBegun else { return }
    hasBegun = true
    if let error = limits.missingCompression { inbox.tell(.notCompressed(error)) }
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
      if let segment, isFull(segment, now) {
        // What is left has waited as long as what went.
        let due = synchronizeAt
        try endSegment()
        synchronizeAt = due
      }
      if segment == nil { try open(now) }
      try segment?.append(pending.record, bytes, of: pending.channel)
      self.pending = nil
      if synchronizeAt == nil { synchronizeAt = now + limits.synchronizeInterval }
    }
  }

  private func isFull(_ segment: Segment, _ now: MonotonicInstant) -> Bool {
    limits.segmentByteLimit.map { segment.finishedByteCount + UInt64(bytes.count) > $0 } ?? false
      || limits.segmentAgeLimit.map { now - segmentBeganAt > $0 } ?? false
  }

  private mutating func open(_ now: MonotonicInstant) throws(MCAPError) {
    let started = time.systemNanosecondsSince1970
    var name: String
    repeat {
      segmentNumber += 1
      name = SegmentName.make(nanosecondsSince1970: started, number: segmentNumber, after: ring.newest)
    } while ring.has(name)
    do throws(MCAPError) {
      let file = try begin(name)
      // One that goes over a network has no blocks.
      let new = try Segment(
        name, file, in: ring, library: library, compression: limits.compression, chunkByteCount: limits.chunkByteLimit,
        blocks: limits.isOneFile ? nil : MCAPBlocks(byteCount: FolderFile.blockByteCount))
      segmentBeganAt = now
      writtenMetadataRevision = 0
      try addMetadata(to: new)
      if !hasToldBeginning { inbox.tell(.began(segment: name)) }
      hasToldBeginning = true
      segment = new
    } catch {
      // What it is, if it is there at all, is no segment.
      try? store.remove(name)
      // It may not have become that yet, and has lost its end.
      if let recycled = ring.recycled, store.segments.contains(where: { $0.name == recycled }) {
        unfinished.append(recycled)
      }
      ring.end()
      throw error
    }
    if !unfinished.isEmpty {
      let there = Set(store.segments.map(\.name))
      unfinished = unfinished.filter { there.contains($0) && (try? store.repair($0)) == nil }
      ring.look()
    }
  }

  private func begin(_ name: String) throws(MCAPError) -> any SegmentFile {
    while true {
      do throws(MCAPError) { return try ring.begin(name) } catch { guard ring.giveUpOldest(error) else { throw error } }
    }
  }

  private mutating func addMetadata(to segment: Segment) throws(MCAPError) {
    let metadata = inbox.metadata
    guard metadata.revision != writtenMetadataRevision else { return }
    try segment.add(metadata.records)
    writtenMetadataRevision = metadata.revision
  }

  private mutating func synchronize(_ now: MonotonicInstant) throws(MCAPError) {
    // What fills no block may wait for the next time, but then it must have most of its own time left.
    let interval = limits.synchronizeInterval
    let isKept = time.nanosecondsSince1970(at: now.advanced(by: .zero - interval * 3 / 4))
    try segment?.synchronize(leavingFrom: isKept)
    synchronizeAt = segment?.bufferedSinceNanoseconds.map { time.instant(ofNanosecondsSince1970: $0) + interval }
    try ring.removeOld()
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
    if failure != nil {
      inbox.set(isFailing: false)
      inbox.tell(.recovered)
    }
    failure = nil
    if let lost = inbox.takeLost() { inbox.tell(.lost(messageCount: lost)) }
  }

  private mutating func fail(_ error: MCAPError, _ now: MonotonicInstant) {
    if failure == nil {
      inbox.set(isFailing: true)
      inbox.tell(.failed(error))
    }
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
