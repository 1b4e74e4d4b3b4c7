import Guarding
import Hub
import MCAP
import MonotonicTime
import TestSupport
import Testing

@testable import Recording

/// The recorder with its thread.
@Suite(.timeLimit(.minutes(10))) struct SegmentRecorderTests {
  private let folder = RecordingFolder()

  /// A disk that stalls every write until it is told to continue.
  private final class StalledStore: SegmentStore {
    let folder: SegmentFolder
    let isFree = Guarded(false)
    /// The names of the segments whose creation has begun.
    let begun = Recorder<String>()

    init(_ folder: SegmentFolder) { self.folder = folder }

    var segments: [StoredSegment] { folder.segments }
    func create(_ name: String, limit: UInt64?) throws(MCAPError) -> any SegmentFile {
      begun.append(name)
      hold { isFree.withLock { $0 } }
      return try folder.create(name, limit: limit)
    }
    func remove(_ name: String) throws(MCAPError) { try folder.remove(name) }
    func repair(_ name: String) throws(MCAPError) -> MCAPRepair { try folder.repair(name) }
  }

  private func append(_ text: String, to recorder: SegmentRecorder, _ channel: Int) {
    Array(text.utf8).withUnsafeBytes {
      recorder.inbox.append($0, to: channel, at: MonotonicInstant(nanoseconds: 0))
    }
  }

  @Test func `appending never waits for a stalled disk, and the end comes when the disk continues`() throws {
    let store = StalledStore(folder.store)
    let events = Recorder<RecorderEvent>()
    let counters = RecordingCounters()
    let recorder = SegmentRecorder(
      RecordSettings(path: folder.path), to: store, time: RecordingTime(), library: "test", counters: counters
    ) { events.append($0) }
    let channel = recorder.inbox.register(RecordedChannel(topic: "/raw", messageEncoding: "nmea0183"))
    recorder.start()
    append("first", to: recorder, channel)
    #expect(store.begun.waits { !$0.isEmpty })
    // Many times the maximum number of waiting messages. An append that waited would never return.
    let padding = String(repeating: ".", count: 1000)
    for index in 0..<5000 { append("\(index) \(padding)", to: recorder, channel) }
    #expect(events.waits { $0.contains(.losing(.slow)) })
    let ends = Recorder<Void>()
    recorder.end { ends.append(()) }
    #expect(ends.values.isEmpty)
    store.isFree.withLock { $0 = true }
    #expect(ends.waits { !$0.isEmpty })
    let texts = try folder.texts("/raw")
    #expect(texts.last == "4999 \(padding)")
    #expect(texts.count + counters.lostMessageCount == 5001)
    #expect(events.values.last == .lost(messageCount: counters.lostMessageCount))
  }

  @Test func `messages that a stalled disk has not accepted in time are reported`() {
    let store = StalledStore(folder.store)
    defer { store.isFree.withLock { $0 = true } }
    let events = Recorder<RecorderEvent>()
    let recorder = SegmentRecorder(
      RecordSettings(path: folder.path), to: store, time: RecordingTime(), library: "test",
      counters: RecordingCounters()
    ) { events.append($0) }
    let channel = recorder.inbox.register(RecordedChannel(topic: "/raw", messageEncoding: "nmea0183"))
    recorder.start()
    append("first", to: recorder, channel)
    #expect(store.begun.waits { !$0.isEmpty })
    for _ in 0..<7 { append("more", to: recorder, channel) }
    recorder.end {}
    recorder.giveUp()
    #expect(events.values == [.ended(lostMessageCount: 7)])
  }

  @Test func `a recorder that is ended before its start writes nothing and delays nothing`() {
    let recorder = SegmentRecorder(
      RecordSettings(path: folder.path), to: folder.store, time: RecordingTime(), library: "test",
      counters: RecordingCounters()
    ) { _ in }
    let hasEnded = Guarded(false)
    recorder.end { hasEnded.withLock { $0 = true } }
    #expect(hasEnded.withLock { $0 })
    recorder.start()
    #expect(folder.names.isEmpty)
  }

  @Test func `a recorder that waits for another one loses nothing when it is ended before it could begin`() throws {
    let store = StalledStore(folder.store)
    func make() -> (recorder: SegmentRecorder, channel: Int) {
      let recorder = SegmentRecorder(
        RecordSettings(path: folder.path), to: store, time: RecordingTime(), library: "test",
        counters: RecordingCounters()
      ) { _ in }
      return (recorder, recorder.inbox.register(RecordedChannel(topic: "/raw", messageEncoding: "nmea0183")))
    }
    let (first, second, third) = (make(), make(), make())
    first.recorder.start()
    append("first", to: first.recorder, first.channel)
    #expect(store.begun.waits { !$0.isEmpty })
    // The board file is reloaded twice while the disk stalls.
    second.recorder.start(after: first.recorder)
    append("second", to: second.recorder, second.channel)
    third.recorder.start(after: second.recorder)
    append("third", to: third.recorder, third.channel)
    let ends = Recorder<Void>()
    third.recorder.end { ends.append(()) }
    #expect(ends.values.isEmpty)
    store.isFree.withLock { $0 = true }
    #expect(ends.waits { !$0.isEmpty })
    #expect(try folder.texts("/raw") == ["first", "second", "third"])
  }

  @Test func `each caller that requests the end is notified`() {
    let recorder = SegmentRecorder(
      RecordSettings(path: folder.path), to: folder.store, time: RecordingTime(), library: "test",
      counters: RecordingCounters()
    ) { _ in }
    recorder.start()
    let ends = Recorder<Void>()
    for _ in 0..<3 { recorder.end { ends.append(()) } }
    #expect(ends.waits { $0.count == 3 })
  }
}
