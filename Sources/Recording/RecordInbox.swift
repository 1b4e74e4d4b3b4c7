import CLinux
import Guarding
import MCAP
import MonotonicTime

/// The queue between the sources of a recording and the thread that writes it. Adding a message copies it under a short
/// lock, and never waits for the disk.
public final class RecordInbox: Sendable {
  private struct State: ~Copyable {
    var queue: RecordQueue
    var channels: [RecordedChannel] = []
    /// The facts, with and without their time.
    var facts: [MCAPMetadata] = []
    var metadata: [MCAPMetadata] = []
    var metadataRevision = 0
    /// Whether a message to be written has arrived since the writer last checked.
    var isFresh = false
    /// Whether the writer waits for such a message without a time limit.
    var isResting = false
    /// Whether the writer was told not to wait until its next time.
    var isCrowded = false
    /// The number of lost messages in the present loss.
    var lostCount = 0
    /// Whether nothing can be written at present.
    var isFailing = false
    var isEnding = false
    var newest = MonotonicInstant(nanoseconds: .min)

    /// The log time of a message that existed at an instant. Several devices are read at the same time, so the order of
    /// arrival may differ.
    mutating func logTime(_ instant: MonotonicInstant) -> MonotonicInstant {
      newest = max(newest, instant)
      return max(instant, newest.advanced(by: .zero - RecordInbox.mostLate))
    }
  }

  /// The greatest delay of a log time. A replay fuses a sample as of its log time, so it must be right however long the
  /// machine was held up. With more delay, more chunks would overlap than a reader holds.
  private static let mostLate = Duration.seconds(30)

  /// The usual capacity. It bridges a stalled card for more than a minute at a hub's usual 10 kB/s.
  public static let usualCapacity = 1 << 20

  private let state: Guarded<State>
  private let time: RecordingTime
  private let counters: RecordingCounters
  private let report: @Sendable (RecorderEvent) -> Void
  /// Raised to wake the writer.
  let wake = WakeSignal()

  /// - Parameters:
  ///   - capacity: the maximum size of waiting messages, in bytes
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

  /// Registers a channel.
  ///
  /// - Returns: its number, the same for the same topic
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

  /// Sets the facts that every segment begins with from now on (`RecordedFacts`); the present one gets them as well.
  public func set(_ facts: [MCAPMetadata]) {
    state.withLock { state in
      guard state.facts != facts else { return }
      state.facts = facts
      state.metadata = RecordedFacts.records(facts, sinceNanoseconds: time.nanosecondsSince1970(at: time.clock.now))
      state.metadataRevision += 1
    }
  }

  /// Takes a message. Allocates nothing and never waits.
  ///
  /// - Parameters:
  ///   - channel: the number from `register`
  ///   - stamp: the time of the event
  ///   - receivedAt: the exact time of its arrival, if known; otherwise now
  ///   - isWritten: whether the message is a reason to write; others, such as log lines, wait for the next reason
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
    // This is not reported here, because the writer may be waiting, and the caller may hold a lock that a log line
    // needs.
    if hasBegunToLose { _ = time.clock.schedule(at: time.clock.now) { [report] in report(.losing(loss)) } }
  }

  /// Records an added message.
  ///
  /// - Returns: whether to wake the writer
  private func noteAppended(_ state: inout State, isWritten: Bool) -> Bool {
    // At rest, only log lines arrive; when there are many, they are a reason too.
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

  /// Records a loss.
  ///
  /// - Returns: whether it begins a new loss
  private func note(lost count: Int, _ state: inout State) -> Bool {
    guard count > 0 else { return false }
    counters.lost(messageCount: count)
    defer { state.lostCount += count }
    return state.lostCount == 0
  }

  /// Makes the writer write everything, finish and leave.
  func end() {
    state.withLock { $0.isEnding = true }
    wake.raise()
  }

  // MARK: For the writer

  var isEnding: Bool { state.withLock { $0.isEnding } }

  func tell(_ event: RecorderEvent) { report(event) }

  /// Records that the writer checks.
  ///
  /// - Returns: whether a message to be written has arrived since
  func attend() -> Bool {
    state.withLock { state in
      state.isCrowded = false
      state.isResting = false
      defer { state.isFresh = false }
      return state.isFresh
    }
  }

  /// Records that the writer has nothing to do until the next message to be written.
  ///
  /// - Returns: whether none has arrived in the meantime
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

  /// Sets whether writing fails.
  func set(isFailing: Bool) { state.withLock { $0.isFailing = isFailing } }

  /// Counts messages that the writer took as lost, because writing them failed.
  func lose(_ count: Int) {
    if state.withLock({ note(lost: count, &$0) }) { report(.losing(.failing)) }
  }

  /// Reports the losses at the end of the recording, after which nothing is written.
  ///
  /// - Parameter count: the number of lost messages that the writer took
  func giveUp(besides count: Int = 0) {
    state.withLock { state in _ = note(lost: count + state.queue.messageCount, &state) }
    if let lost = takeLost() { report(.ended(lostMessageCount: lost)) }
  }

  /// Ends the present loss after everything is written.
  ///
  /// - Returns: the number of lost messages; `nil` for none
  func takeLost() -> Int? {
    state.withLock { state in
      defer { state.lostCount = 0 }
      return state.lostCount > 0 ? state.lostCount : nil
    }
  }
}
