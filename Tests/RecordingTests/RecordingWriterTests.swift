import Glibc
import HardwareIO
import Hub
import MCAP
import MonotonicTime
import TestSupport
import Testing

@testable import Recording

struct RecordingWriterTests {
  private let folder = RecordingFolder()

  @Test func `without data there is no file and no timer, and log lines do not change this`()
    throws
  {
    let rig = Rig(folder.store)
    #expect(rig.writer.turn() == .rest(until: nil))
    rig.append("line", isLog: true)
    #expect(rig.writer.turn() == .rest(until: nil))
    rig.writer.finish()
    #expect(folder.names.isEmpty && rig.events.values.isEmpty)
    rig.append("$GP")
    #expect(rig.writer.turn() == .until(rig.clock.now + .seconds(5)))
    #expect(folder.names == ["sensorhub-20261122T211439Z-001.mcap"])
    #expect(rig.turnWhenDue().isRest)
    rig.writer.finish()
    #expect(try folder.texts("/log") == ["line"])
    #expect(try folder.texts("/raw") == ["$GP"])
  }

  @Test func `the file states who wrote it, what each channel is, and the times`() throws {
    let rig = Rig(folder.store)
    rig.inbox.set([MCAPMetadata(name: "board", entries: ["file": "{}"])])
    rig.append("first")
    _ = rig.writer.turn()
    rig.clock.advance(by: .seconds(1))
    rig.append("line", isLog: true)
    rig.inbox.set([MCAPMetadata(name: "board", entries: ["file": "{ name: 'new' }"])])
    rig.writer.finish()
    let reader = try MCAPReader(path: folder.path + "/" + folder.names[0])
    try reader.check()
    #expect(reader.isIndexed && reader.header.library == "sensorhub test")
    let boards = try reader.summary.metadata.map { try reader.metadata($0).entries["file"] }
    #expect(boards == ["{}", "{ name: 'new' }"])
    let channels = reader.summary.channels.values.sorted { $0.topic < $1.topic }
    #expect(channels.map(\.topic) == ["/log", "/raw"] && channels.map(\.messageEncoding) == ["json", "nmea0183"])
    #expect(reader.summary.schemas[channels[0].schemaID]?.name == "foxglove.Log" && channels[1].schemaID == 0)
    var messages = reader.messages()
    let first = try messages.next()
    let second = try messages.next()
    #expect(first?.logTimeNanoseconds == UInt64(Rig.start) && first?.publishTimeNanoseconds == 1_000_000_000)
    #expect(second?.logTimeNanoseconds == UInt64(Rig.start) + 1_000_000_000)
  }

  /// A thread may be delayed between fusing a sample and recording it, while others continue.
  @Test func `a late message is read at its own instant, and a very late one half a minute late`()
    throws
  {
    let rig = Rig(folder.store)
    let start = rig.clock.now
    func append(_ text: String, at seconds: Double) {
      let instant = start + .nanoseconds(Int64(seconds * 1e9))
      Array(text.utf8).withUnsafeBytes { rig.inbox.append($0, to: rig.raw, at: instant, receivedAt: instant) }
    }
    append("first", at: 0)
    append("third", at: 7)
    append("second", at: 2.5)
    _ = rig.turnWhenDue()
    append("sixth", at: 100)
    append("fourth", at: 75)
    append("far too late", at: 60)
    rig.writer.finish()
    let reader = try MCAPReader(path: folder.path + "/" + folder.names[0])
    var messages = reader.messages()
    var read: [String] = []
    while let message = try messages.next() {
      let seconds = Double(message.logTimeNanoseconds - UInt64(Rig.start)) / 1e9
      read.append("\(String(decoding: message.data, as: UTF8.self)) \(seconds)")
    }
    #expect(read == ["first 0.0", "second 2.5", "third 7.0", "far too late 70.0", "fourth 75.0", "sixth 100.0"])
  }

  @Test func `a truncated recording lacks nothing from before the last flush`() throws {
    do {
      let rig = Rig(folder.store)
      for index in 0..<100 { rig.append("\(index)") }
      #expect(rig.turnWhenDue().isRest)
      rig.append("too late")
      _ = rig.writer.turn()
    }
    // The process has ended and lost its memory.
    let name = folder.names[0]
    #expect(try MCAPReader(path: folder.path + "/" + name).damage != nil)
    let next = Rig(folder.store)
    #expect(next.writer.turn() == .rest(until: nil))
    guard case .repaired(name, 100, _) = next.events.values.first else {
      Issue.record("\(next.events.values)")
      return
    }
    try MCAPReader(path: folder.path + "/" + name).check()
    #expect(try folder.texts("/raw") == (0..<100).map { "\($0)" })
    // The segment is complete, so the next recorder reports nothing.
    let third = Rig(folder.store)
    _ = third.writer.turn()
    #expect(third.events.values.isEmpty)
  }

  @Test func `the segments never exceed their budget, and the newest ones remain`() throws {
    let rig = Rig(folder.store, RecordSettings(path: "", maximumMegabytes: 4))
    var largest: UInt64 = 0
    let padding = String(repeating: ".", count: 20_000)
    for index in 0..<600 {
      rig.append("\(index) \(padding)")
      rig.clock.advance(by: .seconds(1))
      _ = rig.writer.turn()
      largest = max(largest, folder.byteCount)
    }
    rig.writer.finish()
    largest = max(largest, folder.byteCount)
    #expect(largest <= 4_000_000 && largest > 3_000_000)
    #expect(folder.names.count >= 7 && rig.counters.segmentCount == folder.names.count)
    #expect(rig.counters.byteCount > 12_000_000)
    let numbers = try folder.texts("/raw").compactMap { $0.split(separator: " ").first.flatMap { Int($0) } }
    #expect(numbers.count > 140)
    #expect(numbers == Array(600 - numbers.count..<600))
  }

  @Test func `old segments are removed, and no other files`() throws {
    let settings = RecordSettings(path: "", maximumAge: .seconds(8 * 3600))
    for (name, hours) in [
      ("sensorhub-20261122T010000Z-001.mcap", 9), ("sensorhub-20261122T020000Z-001.mcap", 7), ("notes.txt", 100),
      ("sensorhub-old.mcap", 100),
    ] {
      mkdir(folder.path, 0o755)
      HubProcess.write(Array("x".utf8), to: folder.path + "/" + name)
      let written = timespec(tv_sec: Int(Rig.start / 1_000_000_000) - hours * 3600, tv_nsec: 0)
      let times = [written, written]
      #expect(utimensat(AT_FDCWD, folder.path + "/" + name, times, 0) == 0)
    }
    let rig = Rig(folder.store, settings)
    rig.append("x")
    #expect(rig.turnWhenDue().isRest)
    let left = ["notes.txt", "sensorhub-20261122T020000Z-001.mcap", "sensorhub-20261122T211439Z-001.mcap"]
    #expect(folder.names == left + ["sensorhub-old.mcap"])
    // A segment covers at most an eighth of the maximum age.
    rig.clock.advance(by: .seconds(3601))
    rig.append("y")
    #expect(rig.turnWhenDue().isRest)
    #expect(folder.names.contains { $0.hasSuffix("-002.mcap") })
  }

  @Test
  func
    `a full disk is reported once and retried at growing intervals, and no message is lost if space becomes free in time`()
    throws
  {
    let store = FaultyStore(folder.store)
    let rig = Rig(store)
    rig.append("before")
    #expect(rig.turnWhenDue().isRest)
    store.set(errno: ENOSPC)
    for index in 0..<60 {
      rig.append("\(index)")
      rig.clock.advance(by: .seconds(1))
      _ = rig.writer.turn()
    }
    // The tries are at 5 s and then 1, 2, 4, 8 and 16 s apart.
    #expect((4...8).contains(store.attempts), "\(store.attempts)")
    store.set(errno: nil)
    rig.clock.advance(by: .seconds(60))
    _ = rig.writer.turn()
    rig.writer.finish()
    #expect(try folder.texts("/raw") == ["before"] + (0..<60).map { "\($0)" })
    #expect(rig.events.values.dropFirst() == [.failed(.system("writing", errno: ENOSPC)), .recovered])
    #expect(rig.counters.lostMessageCount == 0)
  }

  @Test func `after an error that leaves a file in doubt, the next file begins and the first one is repaired`() throws {
    let store = FaultyStore(folder.store)
    let rig = Rig(store)
    rig.append("before")
    #expect(rig.turnWhenDue().isRest)
    rig.append("in doubt")
    _ = rig.writer.turn()
    store.set(errno: EIO)
    rig.clock.advance(by: .seconds(5))
    _ = rig.writer.turn()
    store.set(errno: nil)
    rig.append("after")
    rig.clock.advance(by: .seconds(2))
    _ = rig.writer.turn()
    #expect(folder.names.count == 2)
    rig.writer.finish()
    for name in folder.names { try MCAPReader(path: folder.path + "/" + name).check() }
    #expect(try folder.texts("/raw") == ["before", "after"])
    #expect(rig.counters.lostMessageCount == 1)
    #expect(
      rig.events.values.dropFirst() == [
        .failed(.system("writing", errno: EIO)), .losing(.failing), .recovered, .lost(messageCount: 1),
      ])
  }

  @Test func `messages lost to a stalled disk are counted, and reported when it stalls and when it continues`() throws {
    let rig = Rig(folder.store, capacity: 4096)
    for index in 0..<1000 { rig.append("message \(index)") }
    #expect(rig.events.values == [.losing(.slow)])
    #expect(rig.turnWhenDue().isRest)
    let texts = try {
      rig.writer.finish()
      return try folder.texts("/raw")
    }()
    #expect(texts.last == "message 999" && texts.count > 50)
    #expect(rig.counters.lostMessageCount == 1000 - texts.count)
    #expect(rig.events.values.last == .lost(messageCount: 1000 - texts.count))
    #expect(rig.events.values.count { $0 == .losing(.slow) } == 1)
  }

  @Test(arguments: [ENOSPC, EIO])
  func `messages that cannot be written at the end are counted and reported`(_ errno: Int32) throws {
    let store = FaultyStore(folder.store)
    let rig = Rig(store)
    rig.append("before")
    #expect(rig.turnWhenDue().isRest)
    store.set(errno: errno)
    for index in 0..<10 { rig.append("\(index)") }
    rig.clock.advance(by: .seconds(5))
    _ = rig.writer.turn()
    for index in 10..<15 { rig.append("\(index)") }
    rig.writer.finish()
    #expect(rig.events.values.last == .ended(lostMessageCount: 15))
    #expect(rig.counters.lostMessageCount == 15)
    #expect(!rig.events.values.contains { if case .lost = $0 { true } else { false } })
  }

  @Test func `messages lost to a failed disk are not reported as lost to a slow one`() {
    let store = FaultyStore(folder.store)
    store.set(errno: ENOSPC)
    let rig = Rig(store, capacity: 4096)
    rig.append("first")
    _ = rig.writer.turn()
    for index in 0..<1000 { rig.append("message \(index)") }
    #expect(rig.events.values == [.failed(.system("writing", errno: ENOSPC)), .losing(.failing)])
  }

  @Test func `a folder that is removed is noticed, reported once, and made again`() throws {
    let rig = Rig(folder.store)
    rig.append("before")
    #expect(rig.turnWhenDue().isRest)
    TemporaryFolder.remove(folder.path)
    rig.append("gone")
    rig.clock.advance(by: .seconds(5))
    _ = rig.writer.turn()
    rig.clock.advance(by: .seconds(5))
    _ = rig.writer.turn()
    rig.append("after")
    rig.clock.advance(by: .seconds(5))
    _ = rig.writer.turn()
    rig.writer.finish()
    #expect(try folder.texts("/raw") == ["after"])
    let failures = rig.events.values.count { if case .failed = $0 { true } else { false } }
    #expect(failures == 1)
    #expect(rig.events.values.contains(.recovered))
  }

  @Test func `if the disk is full before the budget is used up, the oldest segments are removed, but not the last two`()
    throws
  {
    let store = FaultyStore(folder.store)
    store.set(byteLimit: 2_200_000)
    let rig = Rig(store, RecordSettings(path: "", maximumMegabytes: 8))
    rig.record(0..<400)
    rig.writer.finish()
    let numbers = try folder.texts("/raw").compactMap { $0.split(separator: " ").first.flatMap { Int($0) } }
    #expect(numbers == Array(400 - numbers.count..<400) && numbers.count > 40)
    #expect(folder.byteCount <= 2_200_000)
    #expect(rig.events.values.contains { if case .removedForRoom = $0 { true } else { false } })
    #expect(!rig.events.values.contains { if case .failed = $0 { true } else { false } })
    // The other files keep growing, but something remains.
    store.set(byteLimit: 1000)
    let next = Rig(store, RecordSettings(path: "", maximumMegabytes: 8))
    next.record(400..<420)
    #expect(next.events.values.contains { if case .failed = $0 { true } else { false } })
    #expect(folder.names.count >= 1 && folder.byteCount > 0)
  }

  @Test func `a segment without new data is completed, and later data begins another segment`() throws {
    let rig = Rig(folder.store)
    rig.append("first")
    guard case .rest(let limit?) = rig.turnWhenDue() else {
      Issue.record("it would rest for ever")
      return
    }
    let path = folder.path + "/" + folder.names[0]
    #expect(try !MCAPReader(path: path).isIndexed)
    // A line of the log does not start a new segment.
    rig.clock.advance(by: .seconds(300))
    rig.append("line", isLog: true)
    rig.clock.advance(by: max(.zero, limit - rig.clock.now))
    #expect(rig.writer.turn() == .rest(until: nil))
    try MCAPReader(path: path).check()
    #expect(try MCAPReader(path: path).isIndexed)
    #expect(try folder.texts("/log") == ["line"])
    rig.append("second")
    #expect(rig.turnWhenDue().isRest)
    rig.writer.finish()
    #expect(folder.names.count == 2)
    #expect(try folder.texts("/raw") == ["first", "second"])
  }

  @Test func `messages reach the disk in time even while the writer waits for full blocks`() throws {
    let rig = Rig(folder.store)
    var sent: [(text: String, at: MonotonicInstant)] = []
    for index in 0..<600 {
      let text = "\(index) " + String(repeating: ".", count: 50 + index % 7 * 40)
      sent.append((text, rig.clock.now))
      rig.append(text)
      // The writer is called when it is due, like a thread would, and not earlier.
      if index == 0 { _ = rig.writer.turn() }
      let now = rig.clock.now
      rig.clock.advance(by: .milliseconds(50))
      var pause = rig.writer.turn()
      while case .until(let instant) = pause, instant <= rig.clock.now { pause = rig.writer.turn() }
      guard index % 20 == 19 else { continue }
      let found = try folder.texts("/raw")
      #expect(found == sent.prefix(found.count).map(\.text))
      let oldest = sent.dropFirst(found.count).first
      if let oldest { #expect(now - oldest.at <= .milliseconds(5050)) }
    }
  }
}
