import Devices
import Guarding
import MonotonicTime
import Testing

@testable import Outputs
@testable import Recording

struct RecordedSystemClockTests {
  private final class Ahead: Sendable { let nanoseconds = Guarded<Int64>(0) }

  private let clock = ManualClock()
  private let ahead = Ahead()
  private let inbox: RecordInbox
  private let record: @Sendable (ReceivedBytes) -> Void

  init() {
    let (clock, ahead) = (clock, ahead)
    let time = RecordingTime(clock: clock) {
      1_800_000_000_000_000_000 + clock.now.nanoseconds + ahead.nanoseconds.withLock { $0 }
    }
    inbox = RecordInbox(time: time, counters: RecordingCounters(), report: { _ in })
    record = RecordedDevices(inbox: inbox, systemClock: RecordedSystemClock(in: inbox, time: time)).sentences(of: "gps")
  }

  /// Reads a sentence, and returns the topics of the resulting messages and those about the clock.
  private func read() -> (topics: [String], said: [String]) {
    clock.advance(by: .seconds(1))
    record(ReceivedBytes(bytes: Array("$A\r\n".utf8), beganAt: clock.now, readAt: clock.now))
    var (topics, said): ([String], [String]) = ([], [])
    var bytes: [UInt8] = []
    while let (record, channel) = inbox.take(into: &bytes) {
      topics.append(channel.topic)
      if channel.topic == "/clock" { said.append(String(decoding: bytes, as: UTF8.self)) }
      // The clock offset comes first, also among messages of one time; and both before the epoch that the sentence
      // ends.
      #expect(record.logTimeNanoseconds == UInt64(1_800_000_000_000_000_000 + clock.now.nanoseconds - 1000))
    }
    return (topics, said)
  }

  @Test func `the clock offset is recorded before the first sentence, when the clock was set, and once a minute`() {
    #expect(read().topics == ["/clock", "/receiver/gps/raw"])
    #expect(read().topics == ["/receiver/gps/raw"])
    ahead.nanoseconds.withLock { $0 = 7_200_000_000_000 }
    let set = read()
    #expect(set.topics == ["/clock", "/receiver/gps/raw"])
    #expect(set.said.first?.hasPrefix("{\"aheadNanoseconds\":7200000000000,") == true, "\(set.said)")
    // A difference below ten milliseconds is not recorded until a minute has passed.
    ahead.nanoseconds.withLock { $0 += 1_000_000 }
    let later = (0..<120).map { _ in read().topics.count }
    #expect(later.filter { $0 == 2 }.count == 2 && later.last == 2)
  }
}
