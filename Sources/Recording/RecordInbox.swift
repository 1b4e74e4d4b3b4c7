import CLinux
import Guarding
import MCAP
import MonotonicTime

/// The queue between the sources of a recording and the one thread that writes it. Adding a message copies it under a
/// short lock, and never waits for the disk.
public final class RecordInbox: Sendable {
  private struct State: ~Copyable {
    var queue: RecordQueue
    var channels: [RecordedChannel] = []
    /// Without and with their time.
    var facts: [MCAPMetadata] = []
    var metadata: [MCAPMetadata] = []
    var metadataRevision = 0
    /// A message to be written has come since the writer last looked.
    var isFresh = false
    /// The writer waits for that, however long it takes.
    var isResting = false
    /// The writer has been told that it had better not wait for its time.
    var isCrowded = false
    /// Of the present loss, until it is over.
    var lostCount = 0
    /// Nothing can be written just now.
    var isFailing = false
    var isEnding = false
    var newest = MonotonicInstant(nanoseconds: .min)

    /// The arrival of a message that existed at an instant. Several devices are read at the same time, so the order of
    /// arrival may differ.
    mutating func logTime(_ instant: MonotonicInstant) -> MonotonicInstant {
      newest = max(newest, instant)
      return max(instant, newest.advanced(by: .zero - RecordInbox.mostLate))
    }
  }

  /// A replay fuses a sample as of its log time, so the log time must be right however long the machine was held up.
  /// With later messages than this, more chunks would overlap than a reader holds.
  private static let mostLate = Duration.seconds(30)

  /// A stalled card is waited for as long as a megabyte lasts: at a hub's usual 10 kB/s more than a minute.
  public static let usualCapacity = 1 << 20

  private let state: Guarded<State>
  private let time: RecordingTime
  private let counters: RecordingCounters
  private let report: @Sendable (RecorderEvent) -> Void
  /// Raised for the writer.
  let wake = WakeSignal()

  /// - Parameters:
  ///   - capacity: of waiting messages, in bytes
  ///   - report: called by the writer, or by the clock while the writer may wait for the disk
  public init(
    capacity: Int = RecordInbox.usualCapacity, time: RecordingTime, counters: RecordingCounters,
    report: @escaping @Sendable (RecorderEvent) -> Void
  ) {
    state = Guarded(State(queue: RecordQueue(capacity: capacity)))
    self.time = time
    self.counters = counters
    self.report = report
  }

  /// Returns the number of a channel, the same for the same topic.
  public func register(_ channel: RecordedChannel) -> Int {
    state.withLock { state in
      if let known = state.channels.firstIndex(where: { $0.topic == channel.topic }) {
        state.channels[known] = channel
        return known
      }
      state.channels.append(channel)
      state.queue.addChannel()
      return state.channels.count - 1
    }
  }

  /// Says what every segment begins with, and holds from now on (`RecordedFacts`); the present one gets it as well.
  public func set(_ facts: [MCAPMetadata]) {
    state.withLock { state in
      guard state.facts != facts else { return }
      state.facts = facts
      state.metadata = RecordedFacts.records(facts, sinceNanoseconds: time.nanosecondsSince1970(at: time.clock.now))
      state.metadataRevision += 1
    }
  }

  /// Takes a message; allocates nothing and never waits.
  ///
  /// - Parameters:
  ///   - channel: as it was registered
  ///   - stamp: the time of the event
  ///   - receivedAt: the exact time of its arrival, if it is known; now otherwise
  ///   - isWritten: whether this is a reason to write. Others, such as a line of the log, wait for the next reason.
  public func append(
    _ bytes: UnsafeRawBufferPointer, to channel: Int, at stamp: MonotonicInstant,
    receivedAt: MonotonicInstant? = nil, isWritten: Bool = true
  ) {
    let (mustWake, hasBegunToLose, loss) = state.withLock { state in
      let logTime = state.logTime(receivedAt ?? time.clock.now)
      let lost = state.queue.append(
        bytes, channel: channel, logTimeNanoseconds: time.nanosecondsSince1970(at: logTime),
        publishTimeNanoseconds: UInt64(clamping: stamp.nanoseconds))
      return (
        noteAppended(&state, isWritten: isWritten), note(lost: lost, &state),
        state.isFailing ? RecorderEvent.Loss.failing : .slow
      )
    }
    if mustWake { wake.raise() }
    // Not reported from here: the writer may be waiting, and the caller may hold a lock that a line of the log needs.
    if hasBegunToLose { _ = time.clock.schedule(at: time.clock.now) { [report] in report(.losing(loss)) } }
  }

  /// Returns whether the writer is to look.
  private func noteAppended(_ state: inout State, isWritten: Bool) -> Bool {
    // At rest, lines of the log are all that comes; in the end they are a reason too.
    let isReason = isWritten || state.isResting && state.queue.byteCount > state.queue.capacity / 4
    if isReason { state.isFresh = true }
    if state.isResting {
      if isReason { state.isResting = false }
      return isReason
    }
    guard !state.isCrowded, state.queue.byteCount > state.queue.capacity / 2 else { return false }
    state.isCrowded = true
    return true
  }

  /// Returns whether this is the first that is lost.
  private func note(lost count: Int, _ state: inout State) -> Bool {
    guard count > 0 else { return false }
    counters.lost(messageCount: count)
    defer { state.lostCount += count }
    return state.lostCount == 0
  }

  /// Has the writer write what there is, finish and leave.
  func end() {
    state.withLock { $0.isEnding = true }
    wake.raise()
  }

  // MARK: For the writer

  var isEnding: Bool { state.withLock { $0.isEnding } }

  func tell(_ event: RecorderEvent) { report(event) }

  /// The writer looks; returns whether a message to be written has come since.
  func attend() -> Bool {
    state.withLock { state in
      state.isCrowded = false
      state.isResting = false
      defer { state.isFresh = false }
      return state.isFresh
    }
  }

  /// The writer has nothing to do until the next message to be written; returns whether none has come in the meantime.
  func rest() -> Bool {
    state.withLock { state in
      state.isResting = !state.isFresh && !state.isEnding
      return state.isResting
    }
  }

  /// Takes the oldest message and its channel.
  func take(into bytes: inout [UInt8]) -> (record: RecordQueue.Record, channel: RecordedChannel)? {
    state.withLock { state in
      state.queue.take(into: &bytes).map { ($0, state.channels[Int($0.channel)]) }
    }
  }

  var metadata: (revision: Int, records: [MCAPMetadata]) {
    state.withLock { ($0.metadataRevision, $0.metadata) }
  }

  /// Says whether anything can be written.
  func set(isFailing: Bool) { state.withLock { $0.isFailing = isFailing } }

  /// Messages that the writer took are lost, because writing them has failed.
  func lose(_ count: Int) {
    if state.withLock({ note(lost: count, &$0) }) { report(.losing(.failing)) }
  }

  /// The recording ends, and nothing more is written: reports the losses.
  ///
  /// - Parameter count: of the messages that the writer took
  func giveUp(besides count: Int = 0) {
    state.withLock { state in _ = note(lost: count + state.queue.messageCount, &state) }
    if let lost = takeLost() { report(.ended(lostMessageCount: lost)) }
  }

  /// All is written: how many messages were lost until then, `nil` for none.
  func takeLost() -> Int? {
    state.withLock { state in
      defer { state.lostCount = 0 }
      return state.lostCount > 0 ? state.lostCount : nil
    }
  }
}
