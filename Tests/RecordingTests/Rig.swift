import Guarding
import Hub
import MCAP
import MonotonicTime
import TestSupport

@testable import Recording

/// A recording without a thread, on a clock that stands still.
final class Rig {
  static let start: Int64 = 1_795_382_079_000_000_000

  let clock = ManualClock()
  let events = Recorder<RecorderEvent>()
  let counters = RecordingCounters()
  let inbox: RecordInbox
  var writer: RecordingWriter
  let raw: Int
  let log: Int

  convenience init(
    _ store: any SegmentStore, _ settings: RecordSettings = RecordSettings(path: ""), capacity: Int = 1 << 20
  ) {
    self.init(store, RecordingLimits(settings), capacity: capacity)
  }

  init(_ store: any SegmentStore, _ limits: RecordingLimits, capacity: Int = 1 << 20) {
    let (clock, events) = (clock, events)
    let beganAt = clock.now
    let time = RecordingTime(clock: clock) { Rig.start + (clock.now - beganAt).inNanoseconds }
    inbox = RecordInbox(capacity: capacity, time: time, counters: counters) { events.append($0) }
    raw = inbox.register(RecordedChannel(topic: "/raw", messageEncoding: "nmea0183"))
    log = inbox.register(
      RecordedChannel(
        topic: "/log", messageEncoding: "json",
        schema: RecordedChannel.Schema(name: "foxglove.Log", encoding: "jsonschema", text: "{}")))
    writer = RecordingWriter(
      inbox, to: store, limits: limits, time: time, library: "sensorhub test", counters: counters)
  }

  func append(_ text: String, isLog: Bool = false) { append(Array(text.utf8), isLog: isLog) }

  func append(_ bytes: [UInt8], isLog: Bool = false) {
    bytes.withUnsafeBytes { inbox.append($0, to: isLog ? log : raw, at: clock.now, isWritten: !isLog) }
  }

  /// Lets the time go on to where the writer wants to be called again, and calls it.
  func turnWhenDue() -> RecordingWriter.Pause {
    if case .until(let instant) = writer.turn() { clock.advance(by: max(.zero, instant - clock.now)) }
    return writer.turn()
  }
}
