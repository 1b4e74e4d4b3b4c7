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
    /// The set of facts that was set last.
    var facts: [MCAPMetadata] = []
    /// The sets of facts that the writer has not taken yet, each with the time from which it applies, in the order of
    /// these times.
    var newFacts: [[MCAPMetadata]] = []
    /// Whether a message that must be written has arrived since the writer last called `attend()`.
    var isFresh = false
    /// Whether the writer waits for a message that must be written.
    var isResting = false
    /// Whether the writer was woken before its next call was due, because the queue is filling up.
    var isCrowded = false
    /// The number of messages lost since the present loss began.
    var lostCount = 0
    /// Whether nothing can be written at present.
    var isFailing = false
    var isEnding = false
    var newest = MonotonicInstant(nanoseconds: .min)

    /// Returns the log time of a message that was received at an instant. Several devices are read at the same time, so
    /// a message may be added after one that was received later. Its log time is then earlier than the newest one, by
    /// at most `mostLate`.
    mutating func logTime(_ instant: MonotonicInstant) -> MonotonicInstant {
      newest = max(newest, instant)
      return max(instant, newest.advanced(by: .zero - RecordInbox.mostLate))
    }
  }

  /// How far a log time may be before the newest one. A replay fuses a sample at its log time, so the limit must be
  /// longer than the delays of a busy machine. With a higher limit, more chunks would overlap than a reader can hold.
  private static let mostLate = Duration.seconds(30)

  /// The usual capacity in bytes. At a hub's usual 10 kB/s, it is enough while a card is stalled for more than a
  /// minute.
  public static let usualCapacity = 1 << 20

  /// The maximum number of sets of facts that wait for the writer.
  private static let mostFacts = 64

  private let state: Guarded<State>
  private let time: RecordingTime
  private let counters: RecordingCounters
  private let report: @Sendable (RecorderEvent) -> Void
  /// Raised to wake the writer.
  let wake = WakeSignal()

  /// - Parameters:
  ///   - capacity: the maximum size of waiting messages, in bytes
  ///   - report: called by the writer, or on the clock's thread while the writer may wait for the disk
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

  /// Sets the facts with which every segment begins from now on (`RecordedFacts`). They are also added to the present
  /// segment.
  ///
  /// - Parameter before: how long before now the facts began to apply
  public func set(_ facts: [MCAPMetadata], before: Duration = .zero) {
    state.withLock { state in
      guard state.facts != facts else { return }
      state.facts = facts
      // While nothing is written, only the last facts matter.
      if state.newFacts.count == RecordInbox.mostFacts { state.newFacts.removeFirst() }
      state.newFacts.append(
        RecordedFacts.records(
          facts, sinceNanoseconds: time.nanosecondsSince1970(at: time.clock.now.advanced(by: .zero - before))))
    }
  }

  /// Adds a message. The function allocates no memory and never waits.
  ///
  /// - Parameters:
  ///   - channel: the number from `register`
  ///   - stamp: the time of the event
  ///   - receivedAt: the exact time of the message's arrival; by default now
  ///   - isWritten: whether the message must be written; other messages, such as log lines, wait until such a message
  ///     arrives
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
    // The report is made on another thread. The writer may be waiting for the disk, and the caller may hold a lock that
    // a log line needs.
    if hasBegunToLose { _ = time.clock.schedule(at: time.clock.now) { [report] in report(.losing(loss)) } }
  }

  /// Updates the state of the writer after a message was added.
  ///
  /// - Returns: whether to wake the writer
  private func noteAppended(_ state: inout State, isWritten: Bool) -> Bool {
    // A resting writer wakes for a message that must be written, or if many others, such as log lines, wait.
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

  /// Counts lost messages.
  ///
  /// - Returns: whether this begins a new loss
  private func note(lost count: Int, _ state: inout State) -> Bool {
    guard count > 0 else { return false }
    counters.lost(messageCount: count)
    defer { state.lostCount += count }
    return state.lostCount == 0
  }

  /// Makes the writer write everything, finish and end.
  func end() {
    state.withLock { $0.isEnding = true }
    wake.raise()
  }

  // MARK: For the writer

  var isEnding: Bool { state.withLock { $0.isEnding } }

  func tell(_ event: RecorderEvent) { report(event) }

  /// Marks the writer as active, and resets `isFresh`.
  ///
  /// - Returns: whether a message that must be written has arrived since the last call
  func attend() -> Bool {
    state.withLock { state in
      state.isCrowded = false
      state.isResting = false
      defer { state.isFresh = false }
      return state.isFresh
    }
  }

  /// Marks the writer as resting until a message arrives that must be written.
  ///
  /// - Returns: `false` if such a message has already arrived since `attend()`, or the recording is ending; the writer
  ///   must then not rest
  func rest() -> Bool {
    state.withLock { state in
      state.isResting = !state.isFresh && !state.isEnding
      return state.isResting
    }
  }

  /// Removes the oldest message, and returns it with its channel; `nil` if no message waits.
  func take(into bytes: inout [UInt8]) -> (record: RecordQueue.Record, channel: RecordedChannel)? {
    state.withLock { state in
      state.queue.take(into: &bytes).map { ($0, state.channels[Int($0.channel)]) }
    }
  }

  /// Removes and returns the sets of facts since the last call, in the order of their times.
  func takeFacts() -> [[MCAPMetadata]] {
    state.withLock { state in
      defer { state.newFacts = [] }
      return state.newFacts
    }
  }

  /// Sets whether writing fails at present.
  func set(isFailing: Bool) { state.withLock { $0.isFailing = isFailing } }

  /// Counts messages as lost that the writer took but could not write.
  func lose(_ count: Int) {
    if state.withLock({ note(lost: count, &$0) }) { report(.losing(.failing)) }
  }

  /// Reports the losses at the end of the recording, when nothing more is written.
  ///
  /// - Parameter count: the number of messages that the writer took but could not write
  func giveUp(besides count: Int = 0) {
    state.withLock { state in _ = note(lost: count + state.queue.messageCount, &state) }
    if let lost = takeLost() { report(.ended(lostMessageCount: lost)) }
  }

  /// Ends the present loss. Call this when writing works again, or when nothing more is written.
  ///
  /// - Returns: the number of lost messages; `nil` if none were lost
  func takeLost() -> Int? {
    state.withLock { state in
      defer { state.lostCount = 0 }
      return state.lostCount > 0 ? state.lostCount : nil
    }
  }
}

/// A channel of a recording: its name, and the schema of its messages.
public struct RecordedChannel: Equatable, Sendable {
  /// The structure of messages, for programs that show them.
  public struct Schema: Equatable, Sendable {
    /// The name by which programs recognize the schema, for example `foxglove.LocationFix`.
    public var name: String
    /// The language of `text`, for example `jsonschema` or `text/plain`.
    public var encoding: String
    public var text: String

    public init(name: String, encoding: String, text: String) {
      self.name = name
      self.encoding = encoding
      self.text = text
    }
  }

  public var topic: String
  public var messageEncoding: String
  public var schema: Schema?

  public init(topic: String, messageEncoding: String, schema: Schema? = nil) {
    self.topic = topic
    self.messageEncoding = messageEncoding
    self.schema = schema
  }
}
