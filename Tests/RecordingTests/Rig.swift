import Guarding
import Hub
import MCAP
import MonotonicTime
import TestSupport

@testable import Recording

/// A recorder without a thread, on a clock that stands still.
final class Rig {
  static let start: Int64 = 1_795_382_079_000_000_000

  /// A system clock that can be set.
  final class SystemClock: Sendable {
    let aheadNanoseconds: Guarded<Int64>

    init(aheadNanoseconds: Int64) { self.aheadNanoseconds = Guarded(aheadNanoseconds) }

    func set(forward duration: Duration) { aheadNanoseconds.withLock { $0 += duration.inNanoseconds } }
  }

  let clock = ManualClock()
  let system: SystemClock
  let events = Recorder<RecorderEvent>()
  let counters = RecordingCounters()
  let time: RecordingTime
  let inbox: RecordInbox
  var writer: RecordingWriter
  let raw: Int
  let log: Int

  convenience init(
    _ store: any SegmentStore, _ settings: RecordSettings = RecordSettings(path: ""), capacity: Int = 1 << 20,
    ahead: Duration = .zero, segmentCountLimit: Int = 1000
  ) {
    var limits = RecordingLimits(settings)
    limits.segmentCountLimit = segmentCountLimit
    self.init(store, limits, capacity: capacity, ahead: ahead)
  }

  /// - Parameter ahead: how far the system clock is ahead
  init(
    _ store: any SegmentStore, _ limits: RecordingLimits, capacity: Int = 1 << 20, ahead: Duration = .zero
  ) {
    let system = SystemClock(aheadNanoseconds: ahead.inNanoseconds)
    self.system = system
    let (clock, events) = (clock, events)
    let beganAt = clock.now
    let time = RecordingTime(clock: clock) {
      Rig.start + (clock.now - beganAt).inNanoseconds + system.aheadNanoseconds.withLock { $0 }
    }
    self.time = time
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

  /// Advances the clock to the time at which the writer wants to be called, and calls it.
  func turnWhenDue() -> RecordingWriter.Pause {
    if case .until(let instant) = writer.turn() { clock.advance(by: max(.zero, instant - clock.now)) }
    return writer.turn()
  }

  /// Records numbered messages of a given size, one a second.
  func record(_ numbers: Range<Int>, byteCount: Int = 20_000) {
    let padding = String(repeating: ".", count: byteCount)
    for number in numbers {
      append("\(number) \(padding)")
      clock.advance(by: .seconds(1))
      _ = writer.turn()
    }
  }
}

extension RecordingWriter.Pause {
  var isRest: Bool { if case .rest = self { true } else { false } }
}
