import Glibc
import MCAP
import MonotonicTime

/// Writes the contents of the inbox into segments. Each call returns when the next one is due. The writer has no thread
/// and waits only for the disk, so that a test can call it directly.
struct RecordingWriter {
  enum Pause: Equatable {
    /// Everything is written. The next call is due when a message arrives that must be written, or at the given
    /// instant, when the segment ends.
    case rest(until: MonotonicInstant?)
    case until(MonotonicInstant)
  }

  /// The pauses after errors. Even during the longest pause, the queue does not overflow at usual rates.
  private static let backoff = Backoff(initial: .seconds(1), maximum: .seconds(10))

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
  /// The time of the last message that had to be written.
  private var lastWantedAt = MonotonicInstant(nanoseconds: 0)
  /// The sets of facts that apply from the first unwritten message on, in the order of their times.
  private var facts: [[MCAPMetadata]] = []
  /// The number of the sets in `facts` that the segment contains already.
  private var writtenFactCount = 0
  /// The message that was taken from the inbox but is not written yet; its contents are in `bytes`.
  private var pending: (record: RecordQueue.Record, channel: RecordedChannel)?
  private var bytes: [UInt8] = []
  /// The time at which written bytes must be on the disk; `nil` if they already are.
  private var synchronizeAt: MonotonicInstant?
  private var failure: (retryAt: MonotonicInstant, count: Int)?
  /// The segments that were abandoned after an error, and will be repaired.
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

  /// Does the work that is due.
  ///
  /// - Returns: when the next call is due
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
      // After a failure, write at once: only a write shows whether the disk works again.
      if let synchronizeAt, now >= synchronizeAt || failure != nil { try synchronize(now) }
    } catch {
      fail(error, now)
      return inbox.rest() ? .rest(until: nil) : .until(failure?.retryAt ?? now)
    }
    return pause(now)
  }

  /// Writes everything to the disk now. The file does not end.
  mutating func save() {
    let now = time.clock.now
    guard segment != nil || pending != nil else { return }
    do throws(MCAPError) {
      try drain(now)
      try segment?.synchronize(leavingFrom: .max)
      synchronizeAt = nil
      over()
    } catch {
      fail(error, now)
    }
  }

  /// Writes everything that remains, and ends the file.
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
      // If the file was not abandoned, its unwritten messages are still in memory, and are lost too.
      inbox.giveUp(besides: (pending == nil ? 0 : 1) + Int(segment?.unwrittenMessageCount ?? 0))
    }
  }

  /// Whether there is anything to write. Log lines alone do not start a file, unless a client waits for the file.
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

  /// When the segment ends if no message arrives; `nil` for a file that a client waits for.
  private var restsAt: MonotonicInstant? { limits.isOneFile ? nil : lastWantedAt + limits.restLimit }

  /// Repairs the segments of a previous hub.
  private mutating func begin() {
    guard !hasBegun else { return }
    hasBegun = true
    if let error = limits.missingCompression { inbox.tell(.notCompressed(error)) }
    // All segments are checked, because an earlier repair may have failed for lack of space. Of an intact segment only
    // the end is read.
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
    try takeFacts()
    if segment == nil, limits.isOneFile { try open() }
    while true {
      if pending == nil { pending = inbox.take(into: &bytes) }
      guard let pending else { return forgetFacts() }
      if let segment, isFull(segment) {
        try takeFacts()
        // The remaining messages may have waited as long as those already written, so they have the same deadline.
        let due = synchronizeAt
        try endSegment()
        synchronizeAt = due
      }
      if segment == nil { try open() }
      try segment?.append(pending.record, bytes, of: pending.channel)
      self.pending = nil
      if synchronizeAt == nil { synchronizeAt = now + limits.synchronizeInterval }
    }
  }

  private func isFull(_ segment: Segment) -> Bool {
    limits.segmentByteLimit.map { segment.finishedByteCount + UInt64(bytes.count) > $0 } ?? false
      || limits.segmentAgeLimit.map { time.nowWithSuspends - segmentBeganAt > $0 } ?? false
  }

  private mutating func open() throws(MCAPError) {
    let started = time.systemNanosecondsSince1970
    var name: String
    repeat {
      segmentNumber += 1
      name = SegmentName.make(nanosecondsSince1970: started, number: segmentNumber, after: ring.newest)
    } while ring.has(name)
    do throws(MCAPError) {
      let file = try begin(name)
      // A file that is sent over a connection has no blocks.
      let new = try Segment(
        name, file, in: ring, library: library, compression: limits.compression, chunkByteCount: limits.chunkByteLimit,
        blocks: limits.isOneFile ? nil : MCAPBlocks(byteCount: FolderFile.blockByteCount))
      segmentBeganAt = time.nowWithSuspends
      writtenFactCount = 0
      try addFacts(to: new)
      if !hasToldBeginning { inbox.tell(.began(segment: name)) }
      hasToldBeginning = true
      segment = new
    } catch {
      // The new file is not a complete segment, so remove it.
      try? store.remove(name)
      // The overwritten segment keeps its old name until its first new bytes, and may have lost its end.
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

  private mutating func takeFacts() throws(MCAPError) {
    facts += inbox.takeFacts()
    if let segment { try addFacts(to: segment) }
  }

  private mutating func addFacts(to segment: Segment) throws(MCAPError) {
    while writtenFactCount < facts.count {
      try segment.add(facts[writtenFactCount])
      writtenFactCount += 1
    }
  }

  /// Keeps only the last facts, because all messages from before them are written. The next segment begins with them.
  private mutating func forgetFacts() {
    guard facts.count > 1 else { return }
    facts.removeFirst(facts.count - 1)
    writtenFactCount = min(writtenFactCount, 1)
  }

  private mutating func synchronize(_ now: MonotonicInstant) throws(MCAPError) {
    // Messages in an incomplete block may wait for the next call while more than a quarter of their permitted delay is
    // left.
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

  /// Ends a failure and a loss. Call this after a write to the disk has succeeded.
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
    let count = (failure?.count ?? 0) + 1
    failure = (now + RecordingWriter.backoff.delay(afterFailures: count), count)
  }

  /// Whether the same file can continue once there is space again. After any other error the contents of the file are
  /// unknown.
  private static func mayPass(_ error: MCAPError) -> Bool {
    switch error {
    case .system(_, ENOSPC), .system(_, EDQUOT), .tooLarge: true
    default: false
    }
  }
}
