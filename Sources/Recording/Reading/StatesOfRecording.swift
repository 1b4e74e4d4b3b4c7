import FoundationEssentials
import Fusion
import MCAP
import NMEA

/// The states of a recording, each with its point of the track if it has a new position.
public struct StatesOfRecording: Sendable {
  public struct Entry: Sendable {
    public var state: RecordedState
    public var time: UTCTime
    /// The point; `nil` if an earlier entry has the same position, or the state has no position.
    public var point: TrackPoint?
    /// Whether a receiver was not measuring, or the hub was asleep, since the last entry with a point. `false` without
    /// a point.
    public var hasRested: Bool
    /// The recorded report of the state.
    var data: ArraySlice<UInt8>
  }

  /// The kind of states that are requested. At most one state of each interval is returned.
  public enum Wanted: Sendable {
    /// States with a point.
    case points
    /// States with and without a point. Of each interval, the first state with a point is returned; if none has a
    /// point, the first state.
    case states
  }

  private struct Power: Decodable {
    var kind: String
    var power: String
  }

  /// Two stamps that differ by no more than this belong to the same position: recorded numbers are rounded.
  private static let leastBetweenStampsSeconds = 1e-5

  private var messages: RecordedMessages
  private let wanted: Wanted
  private let everyNanoseconds: UInt64
  private var dueNanoseconds: UInt64 = 0
  /// A state without a point, and the end of its interval. It is returned unless a state with a point follows in the
  /// interval.
  private var held: (entry: Entry, endNanoseconds: UInt64)?
  /// The end of the last interval for which a state without a point was returned, as a log time.
  private var givenNanoseconds: UInt64 = 0
  /// The message that ended the interval of a held state, and is yet to be examined.
  private var waiting: MCAPMessage?
  private var lastLogTimeNanoseconds: UInt64 = 0
  private var lastStampSeconds: Double?
  private var hasRested = false
  private var badMessageCount = 0
  /// The file of the last examined state; empty before the first state.
  private var lastFileName = ""
  private var lastSequence: UInt32 = 0
  /// Whether the last call of `next` ended because it was stopped, before the end of the recording.
  private(set) var isPaused = false

  /// - Parameters:
  ///   - wanted: the kind of states; for `points`, all other states are left out
  ///   - everySeconds: the length of the intervals; one state is taken from each interval. 0 for all states
  ///   - cursor: the end of the previous reading
  public init(
    _ messages: RecordedMessages, wanted: Wanted, everySeconds: Double, after cursor: RecordingCursor? = nil
  ) {
    self.messages = messages
    self.wanted = wanted
    everyNanoseconds = UInt64(everySeconds * 1e9)
    guard let cursor else { return }
    dueNanoseconds = cursor.dueNanoseconds
    lastLogTimeNanoseconds = cursor.logTimeNanoseconds
    givenNanoseconds = cursor.givenNanoseconds
    lastStampSeconds = cursor.stampSeconds
  }

  /// The position after the last examined state; `nil` before the first state.
  var cursor: RecordingCursor? {
    guard !lastFileName.isEmpty else { return nil }
    return RecordingCursor(
      file: lastFileName, logTimeNanoseconds: lastLogTimeNanoseconds, sequence: lastSequence,
      dueNanoseconds: dueNanoseconds, givenNanoseconds: givenNanoseconds, stampSeconds: lastStampSeconds)
  }

  /// Whether the messages of a topic are needed.
  public static func isWanted(_ topic: String) -> Bool { topic == "/state" || topic == "/power" }

  /// The numbers of unreadable messages and chunks.
  public var badCount: (messages: Int, chunks: Int) { (badMessageCount, messages.badChunkCount) }

  /// The reader of the last state's file.
  public var reader: MCAPReader<MCAPFileSource>? { messages.reader }

  /// The next state; `nil` after the last one, or if stopped.
  ///
  /// - Parameter isStopped: called for each message that gives no entry; the search for the next one ends when it
  ///   returns true
  public mutating func next(isStopped: () -> Bool = { false }) throws(RecordingError) -> Entry? {
    isPaused = false
    while let message = try nextMessage() {
      if messages.topic(of: message) == "/power" {
        notePower(message.data)
      } else if endsInterval(message) {
        waiting = message
        return giveHeld()
      } else if let entry = take(message) {
        return entry
      }
      if isStopped() {
        isPaused = true
        return giveHeld()
      }
    }
    return giveHeld()
  }

  private mutating func nextMessage() throws(RecordingError) -> MCAPMessage? {
    guard let waiting else { return try messages.next() }
    self.waiting = nil
    return waiting
  }

  /// Whether a state belongs to a later interval than the held one, or to another recording.
  private func endsInterval(_ message: MCAPMessage) -> Bool {
    guard let held else { return false }
    let logTime = message.logTimeNanoseconds
    return logTime >= held.endNanoseconds || logTime < lastLogTimeNanoseconds
  }

  private mutating func giveHeld() -> Entry? {
    guard let held else { return nil }
    self.held = nil
    // Leave out only further states without a point: a state with a point may still follow in the interval, on the next
    // page.
    givenNanoseconds = held.endNanoseconds
    return held.entry
  }

  private mutating func take(_ message: MCAPMessage) -> Entry? {
    let logTime = message.logTimeNanoseconds
    // Another recording has begun, or the clock was set back.
    if logTime < lastLogTimeNanoseconds {
      dueNanoseconds = 0
      givenNanoseconds = 0
    }
    lastLogTimeNanoseconds = logTime
    lastFileName = messages.fileName
    lastSequence = message.sequence
    guard logTime >= dueNanoseconds else { return nil }
    guard let state = RecordedState(message.data) else {
      badMessageCount += 1
      return nil
    }
    let entry = entry(state, message)
    let end = intervalEnd(around: logTime)
    if entry.point == nil {
      if wanted == .points { return nil }
      guard everyNanoseconds > 0 else { return entry }
      if held == nil, logTime >= givenNanoseconds { held = (entry, end) }
      return nil
    }
    held = nil
    lastStampSeconds = stamp(of: state)
    hasRested = false
    guard everyNanoseconds > 0 else { return entry }
    dueNanoseconds = end
    messages.skipStates(beforeNanoseconds: end)
    return entry
  }

  /// The end of the interval that contains a log time. The intervals form a grid that begins at the first state, so
  /// that the number of states does not change if states come early or late.
  private mutating func intervalEnd(around logTime: UInt64) -> UInt64 {
    guard everyNanoseconds > 0 else { return logTime }
    if dueNanoseconds == 0 { dueNanoseconds = logTime }
    let steps = (logTime - dueNanoseconds) / everyNanoseconds + 1
    let (advance, overflows) = steps.multipliedReportingOverflow(by: everyNanoseconds)
    let (end, isBeyond) = dueNanoseconds.addingReportingOverflow(advance)
    return overflows || isBeyond ? .max : end
  }

  /// When the position of a state was measured, in seconds of the monotonic clock.
  private func stamp(of state: RecordedState) -> Double { state[.monotonic] - (state.known(.positionAge) ?? 0) }

  private mutating func entry(_ state: RecordedState, _ message: MCAPMessage) -> Entry {
    let logTime = messages.time(of: message)
    var entry = Entry(
      state: state, time: state.isTimeConfirmed ? state.time ?? logTime : logTime, hasRested: false,
      data: message.data)
    if state.mode == .asleep {
      // The position of this state is the last known one, and not a new measurement.
      hasRested = true
    } else if state.hasPosition {
      let stamp = stamp(of: state)
      let isNew = lastStampSeconds.map { abs(stamp - $0) > StatesOfRecording.leastBetweenStampsSeconds } ?? true
      if isNew {
        entry.point = point(of: state, at: entry.time, age: state.known(.positionAge) ?? 0)
        entry.hasRested = hasRested
      }
    }
    return entry
  }

  private func point(of state: RecordedState, at time: UTCTime, age: Double) -> TrackPoint {
    let measured = UTCTime(nanosecondsSince1970: time.nanosecondsSince1970.clampedSum(-Int64(age * 1e9)))
    var point = TrackPoint(
      time: measured, latitudeDegrees: state[.latitude], longitudeDegrees: state[.longitude])
    point.altitudeMSLMetres = state.known(.altitudeMSL)
    point.altitudeHAEMetres = state.known(.altitudeHAE)
    point.horizontalSigmaMetres = state.known(.sigmaHorizontal)
    point.isReckoned = state.isReckoned
    if !state.isReckoned {
      point.fixMode = state.whole(.fixMode)
      point.fixStatus = state.whole(.fixStatus)
      point.satellitesUsed = state.whole(.satellites)
      point.hdop = state.known(.hdop)
    }
    return point
  }

  private mutating func notePower(_ data: ArraySlice<UInt8>) {
    guard let power = try? JSONDecoder().decode(Power.self, from: Data(data)) else {
      badMessageCount += 1
      return
    }
    if power.kind == "receiver", ["off", "asleep", "awake", "failed"].contains(power.power) { hasRested = true }
  }
}

extension StatesOfRecording.Entry {
  /// The report of the state, as JSON with its time. If the receiver had not confirmed a time, the time is that of the
  /// recording.
  var report: [UInt8] {
    if state.isTimeConfirmed, state.time != nil { return Array(data) }
    let text = UTCText.make(time).utf8
    if let range = state.timeRange {
      let start = data.startIndex + range.lowerBound
      var report = Array(data[..<start])
      report += text
      report += data[(data.startIndex + range.upperBound)...]
      return report
    }
    let rest = data.drop { $0 != UInt8(ascii: "{") }.dropFirst()
    let isEmpty = rest.first { $0 > 0x20 } == UInt8(ascii: "}")
    return Array("{\"time\":\"".utf8) + text + Array(isEmpty ? "\"".utf8 : "\",".utf8) + rest
  }
}
