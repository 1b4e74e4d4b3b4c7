import FoundationEssentials
import Fusion
import MCAP
import NMEA
import Recording

/// The states of a recording, and what of them makes a track.
struct RecordedStates {
  struct Entry {
    var state: RecordedState
    /// Of the state.
    var time: UTCTime
    /// Where the position is one that no entry before has had.
    var point: TrackPoint?
    /// Since the entry before a receiver was off, or the hub asleep.
    var hasRested: Bool
  }

  private struct Power: Decodable {
    var kind: String
    var power: String
  }

  /// Stamps of the same position differ by what rounding takes.
  private static let leastBetweenStampsSeconds = 1e-5

  private var messages: RecordedMessages
  private let everyNanoseconds: UInt64
  private var dueNanoseconds: UInt64 = 0
  private var lastLogTimeNanoseconds: UInt64 = 0
  private var lastStampSeconds: Double?
  private var hasRested = false
  private var badMessageCount = 0

  /// - Parameter everySeconds: no more than one state in this time; 0 for all
  init(_ messages: RecordedMessages, everySeconds: Double) {
    self.messages = messages
    everyNanoseconds = UInt64(everySeconds * 1e9)
  }

  /// Topics that these are made of.
  static func isWanted(_ topic: String) -> Bool { topic == "/state" || topic == "/power" }

  /// Messages that could not be read, and chunks of them.
  var badCount: (messages: Int, chunks: Int) { (badMessageCount, messages.badChunkCount) }

  /// What the board is called.
  var boardName: String? { messages.reader.flatMap(BoardOfRecording.name) }

  mutating func next() throws(CommandError) -> Entry? {
    while let message = try messages.next() {
      if messages.topic(of: message) == "/power" {
        notePower(message.data)
        continue
      }
      let logTime = message.logTimeNanoseconds
      // Another recording, by a clock that was wrong.
      if logTime < lastLogTimeNanoseconds { dueNanoseconds = 0 }
      lastLogTimeNanoseconds = logTime
      guard logTime >= dueNanoseconds else { continue }
      guard let state = RecordedState(message.data) else {
        badMessageCount += 1
        continue
      }
      advanceDue(behind: logTime)
      return entry(state, message)
    }
    return nil
  }

  /// On a grid of times, so that states that come a little early or late stay as many.
  private mutating func advanceDue(behind logTime: UInt64) {
    guard everyNanoseconds > 0 else { return }
    if dueNanoseconds == 0 { dueNanoseconds = logTime }
    let steps = (logTime - dueNanoseconds) / everyNanoseconds + 1
    let (advance, overflows) = steps.multipliedReportingOverflow(by: everyNanoseconds)
    dueNanoseconds = overflows ? .max : dueNanoseconds.addingReportingOverflow(advance).partialValue
  }

  private mutating func entry(_ state: RecordedState, _ message: MCAPMessage) -> Entry {
    let logTime = messages.time(of: message)
    var entry = Entry(
      state: state, time: state.isTimeConfirmed ? state.time ?? logTime : logTime, hasRested: false)
    if state.mode == .asleep {
      // Its position is the last one known, and nobody has looked since.
      hasRested = true
    } else if state.hasPosition {
      let age = state.known(.positionAge) ?? 0
      let stamp = state[.monotonic] - age
      let isNew = lastStampSeconds.map { abs(stamp - $0) > RecordedStates.leastBetweenStampsSeconds } ?? true
      if isNew {
        lastStampSeconds = stamp
        entry.point = point(of: state, at: entry.time, age: age)
        entry.hasRested = hasRested
        hasRested = false
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
    if power.kind == "receiver", ["off", "asleep", "failed"].contains(power.power) { hasRested = true }
  }
}
