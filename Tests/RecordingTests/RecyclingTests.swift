import Glibc
import HardwareIO
import Hub
import MCAP
import MonotonicTime
import TestSupport
import Testing

@testable import Recording

/// Segments that are written over older ones.
struct RecyclingTests {
  private let folder = RecordingFolder()
  private let settings = RecordSettings(path: "", maximumMegabytes: 4)

  private func inode(_ name: String) -> UInt64? {
    var status = stat()
    return stat("\(folder.path)/\(name)", &status) == 0 ? UInt64(status.st_ino) : nil
  }

  private func numbers(_ name: String) throws -> [Int] {
    var messages = try MCAPReader(path: "\(folder.path)/\(name)").messages(order: .file)
    var numbers: [Int] = []
    while let message = try messages.next() {
      let text = String(decoding: message.data, as: UTF8.self)
      if let number = text.split(separator: " ").first.flatMap({ Int($0) }) { numbers.append(number) }
    }
    return numbers
  }

  /// Records until the budget is used up and one more segment has been started.
  private func fill(_ rig: Rig) throws -> Int {
    rig.record(0..<1)
    let first = try #require(folder.names.first)
    var count = 1
    while folder.names.contains(first), count < 1000 {
      rig.record(count..<count + 1)
      count += 1
    }
    try #require(count < 1000)
    return count
  }

  @Test func `once the budget is used up, the oldest file is overwritten in place and renamed`() throws {
    let rig = Rig(folder.store, settings)
    rig.record(0..<1)
    let oldest = try #require(folder.names.first)
    let file = try #require(inode(oldest))
    let count = try fill(rig)
    let newest = try #require(folder.names.last)
    #expect(inode(newest) == file && !folder.names.contains(oldest))
    rig.record(count..<count + 30)
    rig.writer.finish()
    for name in folder.names {
      let reader = try MCAPReader(path: "\(folder.path)/\(name)")
      try reader.check()
      #expect(reader.isIndexed, "\(name)")
    }
    let all = try folder.names.flatMap(numbers)
    #expect(all == Array(count + 30 - all.count..<count + 30) && all.count > 140)
  }

  @Test func `a reader of a segment that is overwritten finds only the new data`() throws {
    let rig = Rig(folder.store, settings)
    // The messages are small, so that older chunks remain wherever a new one ends.
    rig.record(0..<10_000, byteCount: 600)
    let firstNames = Set(folder.names)
    var count = 10_000
    while folder.names.allSatisfy(firstNames.contains), count < 20_000 {
      rig.record(count..<count + 1, byteCount: 600)
      count += 1
    }
    let newest = try #require(folder.names.last)
    let first = try #require(try folder.names.dropLast().last.map(numbers)?.last) + 1
    for _ in 0..<200 {
      rig.record(count..<count + 1, byteCount: 600)
      count += 1
      let found = try numbers(newest)
      #expect(found == Array(first..<first + found.count))
      // Only messages may be missing that still waited for their time or for a complete block.
      #expect(found.count >= count - first - 8)
    }
  }

  @Test func `a segment that is cut off while it is overwritten contains no old data, whatever the clock showed`()
    throws
  {
    let year = Duration.seconds(365 * 86_400)
    let ahead = Rig(folder.store, settings, ahead: year)
    let count = try fill(ahead)
    // The disk has no room for more than the existing files.
    ahead.record(count..<count + 20)
    ahead.writer.finish()
    var name = ""
    do {
      let rig = Rig(folder.store, settings)
      rig.record(5000..<5003)
      // This discards the data in memory.
      #expect(rig.turnWhenDue().isRest)
      name = try #require(folder.names.last)
      var status = stat()
      #expect(stat("\(folder.path)/\(name)", &status) == 0 && status.st_size > 300_000, "it was written over")
      #expect(try numbers(name) == [5000, 5001, 5002])
    }
    let next = Rig(folder.store, settings)
    _ = next.writer.turn()
    #expect(next.events.values == [.repaired(segment: name, messageCount: 3, lostByteCount: 0)])
    #expect(try numbers(name) == [5000, 5001, 5002])
    try MCAPReader(path: "\(folder.path)/\(name)").check()
  }

  @Test func `a crash before the first new byte leaves the old segment under its old name`() throws {
    let rig = Rig(folder.store, settings)
    rig.record(0..<10)
    rig.writer.finish()
    let old = try #require(folder.names.first)
    let new = "sensorhub-20261123T000000Z-001.mcap"
    do {
      let file = try folder.store.recycle(old, as: new, limit: 1 << 20)
      #expect(file?.isThere == false)
    }
    #expect(folder.names == [old])
    // The end of the file, which would show that it is complete, is missing.
    #expect(try MCAPReader(path: "\(folder.path)/\(old)").damage != nil)
    #expect(try folder.store.repair(old).isNeeded)
    #expect(try numbers(old).starts(with: 0..<5))
  }

  @Test func `a crash right after the first new bytes leaves a new segment without messages`() throws {
    let rig = Rig(folder.store, settings)
    rig.record(0..<10)
    rig.writer.finish()
    let old = try #require(folder.names.first)
    let new = "sensorhub-20261123T000000Z-001.mcap"
    do {
      let file = try #require(try folder.store.recycle(old, as: new, limit: 1 << 20))
      var start = try MCAPWriter(MCAPBytes(), header: MCAPHeader(library: "sensorhub test"), blocks: MCAPBlocks())
      let channel = try start.addChannel(topic: "/raw", messageEncoding: "x")
      #expect(channel == 1)
      let bytes = start.sink.bytes
      try bytes.withUnsafeBufferPointer { (bytes) throws(MCAPError) in
        try file.append(UnsafeRawBufferPointer(bytes))
      }
      #expect(file.isThere)
    }
    #expect(folder.names == [new])
    #expect(try numbers(new).isEmpty)
    #expect(try folder.store.repair(new).messageCount == 0)
    #expect(try numbers(new).isEmpty)
  }

  @Test func `a segment that is being read, or has another name, is not overwritten`() throws {
    let rig = Rig(folder.store, settings)
    rig.record(0..<10)
    rig.writer.finish()
    let old = try #require(folder.names.first)
    let new = "sensorhub-20261123T000000Z-001.mcap"
    do {
      let reader = try MCAPReader(path: "\(folder.path)/\(old)")
      #expect(try folder.store.recycle(old, as: new, limit: 1 << 20) == nil)
      #expect(try reader.messages(order: .file).count() == 10)
    }
    #expect(link("\(folder.path)/\(old)", "\(folder.path)/kept.mcap") == 0)
    #expect(try folder.store.recycle(old, as: new, limit: 1 << 20) == nil)
    #expect(unlink("\(folder.path)/kept.mcap") == 0)
    let file = try #require(try folder.store.recycle(old, as: new, limit: 1 << 20))
    // Another hub does not take this hub's files either.
    #expect(folder.store.isHeld(old))
    #expect(try folder.store.recycle(old, as: "sensorhub-20261123T000000Z-002.mcap", limit: 1 << 20) == nil)
    #expect(!file.isThere)
  }

  @Test func `the number of small segments is limited`() throws {
    for number in 0..<12 {
      let rig = Rig(folder.store, settings, segmentCountLimit: 5)
      rig.append("\(number)")
      rig.writer.finish()
      #expect(folder.names.count <= 5)
    }
    #expect(try folder.texts("/raw") == (7..<12).map { "\($0)" })
  }
}

extension MCAPMessages {
  fileprivate func count() throws(MCAPError) -> Int {
    var messages = self
    var count = 0
    while try messages.next() != nil { count += 1 }
    return count
  }
}
