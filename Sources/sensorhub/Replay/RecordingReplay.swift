import Devices
import FoundationEssentials
import Hub
import MCAP
import MonotonicTime
import NMEA
import Recording

/// The replay of a hub's recordings. It is a class, because its reader would be costly to copy.
final class RecordingReplay {
  private var messages: RecordedMessages
  /// The number of the file that is being read.
  private var fileCount = 0
  private var clock = RecordingClock(started: nil, offsetNanoseconds: nil)
  private var beginsRecording = false
  private(set) var badMessageCount = 0
  private let boardFile: String?
  /// The facts about the origin of the file that is being read, each with the time from which they apply.
  private var facts: [RecordedFacts] = []
  /// The facts that apply to the last message.
  private var present = RecordedFacts()
  private(set) var board: Board?
  /// The log time until which `present` applies.
  private var presentUntil: UInt64 = 0
  /// The offset of `clock` applies to log times from `offsetSince` up to, but not including, `offsetUntil`.
  private var offsetSince: UInt64 = 0
  private var offsetUntil: UInt64 = 0
  /// The message to return next. It waits, because `next` had to return a change of the board before it.
  private var waiting: ReplayedMessage?
  private var lastAt: MonotonicInstant?

  /// Identifies the clock of a recording's times.
  private struct RecordingClock: Equatable {
    /// When the hub began to record.
    var started: String?
    /// The offset from the monotonic clock to log times.
    var offsetNanoseconds: Int64?
  }

  /// - Parameters:
  ///   - topics: the topics of the recorded messages
  ///   - boardFile: a board file in place of the recorded ones; the recorded calibrations are still used
  init(_ messages: RecordedMessages, topics: Set<String>, boardFile: String?) {
    self.messages = messages
    self.boardFile = boardFile
    devices = Set(
      topics.filter { !RecordingReplay.common.contains($0) && RecordingReplay.isWanted($0) }.compactMap { topic in
        topic.split(separator: "/").dropFirst().first.map(String.init)
      })
  }

  /// The topics that belong to no particular device.
  private static let common: Set<String> = ["/power", "/fusion", "/clock"]

  static func isWanted(_ topic: String) -> Bool {
    common.contains(topic)
      || ["/receiver/", "/imu/", "/magnetometer/", "/barometer/", "/supply/"].contains(where: topic.hasPrefix)
  }

  /// The IDs of the recorded devices.
  let devices: Set<String>

  /// How far the clock of the file that is being read was behind the true time.
  var correctionNanoseconds: Int64 { messages.correctionNanoseconds }
  var badChunkCount: Int { messages.badChunkCount }

  /// The next recorded message. If the board has changed, the board comes first.
  func next() throws(CommandError) -> ReplayedMessage? {
    if let message = waiting {
      waiting = nil
      return message
    }
    guard let message = try nextOfDevices() else { return nil }
    defer { lastAt = message.at }
    guard let (board, since) = try newBoard(before: message) else { return message }
    waiting = message
    waiting?.beginsRecording = false
    var change = message
    change.content = .board(board)
    // The board may have been put into service long before any device woke, so it gets that earlier time.
    if let lastAt, !message.beginsRecording { change.move(to: min(max(since ?? lastAt, lastAt), message.at)) }
    return change
  }

  /// The board that comes into service before a message, and since when; `nil` if the board has not changed.
  private func newBoard(before message: ReplayedMessage) throws(CommandError) -> (Board, since: MonotonicInstant?)? {
    let logTime = UInt64(clamping: message.systemNanosecondsSince1970)
    guard logTime >= presentUntil else { return nil }
    let (facts, until) = self.facts.holding(atNanoseconds: logTime)
    presentUntil = until
    var said = facts
    // Leave the time out of the comparison, because the board of the previous file may continue in this one.
    said.sinceNanoseconds = present.sinceNanoseconds
    guard board == nil || said != present else { return nil }
    present = facts
    do throws(CommandError) {
      let recorded = try BoardOfRecording.board(facts, file: boardFile)
      let new = boardFile == nil ? recorded.asReplayedFromRecording : recorded.asReplayed
      if new == board { return nil }
      board = new
      return (
        new,
        facts.sinceNanoseconds.map {
          MonotonicInstant(nanoseconds: Int64(clamping: $0) &- (clock.offsetNanoseconds ?? 0))
        }
      )
    } catch {
      if board == nil { throw error }
      let time = UTCTime(nanosecondsSince1970: message.utcNanosecondsSince1970)
      Terminal.standardError(
        "from \(UTCText.make(time)) the recording is replayed on the previous board: \(error)")
      return nil
    }
  }

  private func nextOfDevices() throws(CommandError) -> ReplayedMessage? {
    do throws(RecordingError) { return try nextMessage() } catch { throw CommandError(error) }
  }

  private func nextMessage() throws(RecordingError) -> ReplayedMessage? {
    while let message = try messages.next() {
      noteFile(message)
      let topic = messages.topic(of: message)
      guard let (device, content) = RecordedContent.read(message, topic: topic) else {
        badMessageCount += 1
        continue
      }
      noteOffset(message.logTimeNanoseconds)
      let offset = clock.offsetNanoseconds ?? 0
      let logTime = Int64(clamping: message.logTimeNanoseconds)
      defer { beginsRecording = false }
      let at = MonotonicInstant(nanoseconds: logTime &- offset)
      return ReplayedMessage(
        at: at, systemNanosecondsSince1970: logTime,
        clockCorrectionNanoseconds: messages.correctionNanoseconds, device: device, content: content.read(at: at),
        beginsRecording: beginsRecording)
    }
    return nil
  }

  private func noteFile(_ message: MCAPMessage) {
    guard messages.fileCount != fileCount, let reader = messages.reader else { return }
    let isFirst = fileCount == 0
    fileCount = messages.fileCount
    facts = RecordedFacts.all(of: reader)
    presentUntil = 0
    let (first, until) = facts.holding(atNanoseconds: message.logTimeNanoseconds)
    let hub = first["sensorhub"]
    offsetSince = 0
    offsetUntil = until
    var new = RecordingClock(
      started: hub["started"], offsetNanoseconds: hub["logTimeOffsetNanoseconds"].flatMap { Int64($0) })
    // If the recording does not contain the offset, use that of the previous file of the same run, or assume that the
    // first message was recorded at the time of its measurement.
    if new.offsetNanoseconds == nil {
      new.offsetNanoseconds =
        new.started != nil && new.started == clock.started
        ? clock.offsetNanoseconds
        : Int64(clamping: message.logTimeNanoseconds) &- Int64(clamping: message.publishTimeNanoseconds)
    }
    beginsRecording = !isFirst && new != clock
    clock = new
  }

  /// Sets the offset that applies at a log time. The offset grows when the machine was suspended. Around that time,
  /// messages with the old offset and with the new one may alternate.
  private func noteOffset(_ logTime: UInt64) {
    guard logTime >= offsetUntil || logTime < offsetSince else { return }
    let (present, until) = facts.holding(atNanoseconds: logTime)
    let hub = present["sensorhub"]
    if let offset = hub["logTimeOffsetNanoseconds"].flatMap({ Int64($0) }) { clock.offsetNanoseconds = offset }
    // A file that `export` has made of several recordings contains several runs of the hub.
    if let started = hub["started"], started != clock.started {
      beginsRecording = beginsRecording || clock.started != nil
      clock.started = started
    }
    offsetSince = present.sinceNanoseconds ?? 0
    offsetUntil = until
  }
}

extension ReplayedMessage.Content {
  /// The content with the message's time as the time at which the hub read it.
  fileprivate func read(at instant: MonotonicInstant) -> Self {
    switch self {
    case .sentences(var sentences):
      // The recorded time of sentences is slightly before they were read. It may be before their first byte, but their
      // reading time must not be.
      sentences.readAt = max(instant, sentences.beganAt)
      return .sentences(sentences)
    case .batch(var batch):
      batch.readAt = instant
      return .batch(batch)
    case .magneticField, .air, .supply, .epoch, .power, .begin, .end, .expiry, .clock, .board: return self
    }
  }
}
