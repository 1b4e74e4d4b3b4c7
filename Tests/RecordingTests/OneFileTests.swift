import Glibc
import MCAP
import MonotonicTime
import TestSupport
import Testing

@testable import Recording

/// One file for a client that waits for it.
struct OneFileTests {
  private let folder = RecordingFolder()

  private func rig(_ store: any SegmentStore) -> Rig { Rig(store, .oneFile(synchronizeInterval: .seconds(1))) }

  @Test func `the file begins at once, and is complete even without any data`() throws {
    let rig = rig(folder.store)
    rig.inbox.set([MCAPMetadata(name: "board", entries: ["file": "{}"])])
    #expect(rig.writer.turn() == .rest(until: nil))
    #expect(folder.names.count == 1 && folder.byteCount > 0)
    rig.writer.finish()
    let reader = try MCAPReader(path: folder.path + "/" + folder.names[0])
    try reader.check()
    #expect(reader.isIndexed && reader.damage == nil)
    #expect(try reader.summary.metadata.map { try reader.metadata($0).name } == ["board"])
  }

  @Test func `a message has a time of each clock, and the file states the difference between the clocks`() throws {
    let rig = rig(folder.store)
    let offset = Rig.start - rig.clock.now.nanoseconds
    _ = rig.writer.turn()
    for second in 0..<3 {
      rig.append("\(second)")
      rig.clock.advance(by: .seconds(1))
      // Changes of the system's clock have no effect.
      rig.system.set(forward: .seconds(3600))
    }
    _ = rig.writer.turn()
    rig.writer.finish()
    let reader = try MCAPReader(path: folder.path + "/" + folder.names[0])
    var messages = reader.messages(channelIDs: reader.summary.channelIDs(ofTopics: ["/raw"]), order: .logTime)
    var offsets: Set<Int64> = []
    var count = 0
    while let message = try messages.next() {
      count += 1
      offsets.insert(Int64(message.logTimeNanoseconds) - Int64(message.publishTimeNanoseconds))
    }
    #expect(count == 3 && offsets == [offset])
  }

  @Test func `a recording may contain only log lines`() throws {
    let rig = rig(folder.store)
    _ = rig.writer.turn()
    rig.append("line", isLog: true)
    rig.writer.finish()
    #expect(try folder.texts("/log") == ["line"])
  }

  @Test func `the recording stays one file, however large and old, and is synced each second`() throws {
    let limits = RecordingLimits.oneFile(synchronizeInterval: .seconds(1))
    #expect(limits.segmentByteLimit == nil && limits.segmentAgeLimit == nil)
    let rig = rig(folder.store)
    _ = rig.writer.turn()
    let padding = String(repeating: ".", count: 500_000)
    for index in 0..<20 {
      rig.append("\(index) \(padding)")
      #expect(rig.writer.turn() == .until(rig.clock.now + .seconds(1)))
      rig.clock.advance(by: .seconds(1))
      #expect(rig.writer.turn() == .rest(until: nil))
      rig.clock.advance(by: .seconds(3600))
    }
    rig.writer.finish()
    #expect(folder.names.count == 1)
    try MCAPReader(path: folder.path + "/" + folder.names[0]).check()
    #expect(try folder.texts("/raw").count == 20)
    #expect(rig.counters.lostMessageCount == 0)
  }

  @Test func `a recording that cannot begin is reported once`() {
    let store = FaultyStore(folder.store)
    store.set(errno: EPIPE)
    let rig = rig(store)
    _ = rig.writer.turn()
    rig.append("x")
    rig.writer.finish()
    #expect(rig.events.values == [.failed(.system("writing", errno: EPIPE)), .ended(lostMessageCount: 1)])
    #expect(folder.names.isEmpty)
  }
}
