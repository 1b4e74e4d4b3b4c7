import Glibc
import Guarding
import MCAP
import Testing

@testable import Recording

/// Recordings that are read one after another while some of them are removed.
struct RecordedMessagesTests {
  private final class Progress: ReadingProgress {
    let vanished = Guarded<[Int]>([])

    func advance() {}
    func finish(vanishedFileCount: Int) { vanished.withLock { $0.append(vanishedFileCount) } }
  }

  private let segments = MadeSegments()
  private let progress = Progress()

  private func read(
    _ paths: [String], from: ExportTime? = nil, removing names: [String]
  ) throws -> (seconds: Set<Int>, vanished: [Int]) {
    let files = try RecordingFiles(paths) { Issue.record("left out: \($0)") }
    let remove = { for name in names { unlink("\(segments.folder.path)/\(name)") } }
    // Some are removed before the reading, others during it.
    if from != nil { remove() }
    var messages = try RecordedMessages(files, from: from, to: nil, progress: progress) { $0 == "/state" }
    var seconds: Set<Int> = []
    while let message = try messages.next() {
      if seconds.isEmpty { remove() }
      seconds.insert(Int((Int64(message.logTimeNanoseconds) - MadeSegments.start) / 1_000_000_000))
    }
    #expect(try messages.next() == nil)
    return (seconds, progress.vanished.withLock { $0 })
  }

  @Test func `a segment that disappears before it is read is left out, and counted once`() throws {
    _ = try segments.write("100000Z-001", seconds: 0..<10)
    let second = try segments.write("100010Z-002", seconds: 10..<20)
    _ = try segments.write("100020Z-003", seconds: 20..<30)
    let (seconds, vanished) = try read([segments.folder.path], removing: [second])
    #expect(seconds == Set(0..<10).union(20..<30))
    #expect(vanished == [1, 0])
  }

  @Test func `a time without a date has the day of the first remaining segment`() throws {
    let first = try segments.write("100000Z-001", seconds: 0..<10)
    _ = try segments.write("100010Z-002", seconds: 10..<20)
    let (seconds, vanished) = try read([segments.folder.path], from: ExportTime("10:00:15"), removing: [first])
    #expect(seconds == Set(15..<20))
    #expect(vanished == [1, 0])
  }

  @Test func `a named recording must exist`() throws {
    let first = try segments.write("100000Z-001", seconds: 0..<10)
    let second = try segments.write("100010Z-002", seconds: 10..<20)
    let paths = [first, second].map { "\(segments.folder.path)/\($0)" }
    let missing = MCAPError.system("opening \(paths[1])", errno: ENOENT)
    #expect(throws: RecordingError.unreadable(path: paths[1], missing)) { try read(paths, removing: [second]) }
  }

  @Test func `a suggested command has a file's name as one word`() {
    let error = RecordingError.unreadable(path: "it's; reboot", .system("opening it", errno: EACCES))
    #expect(error.nextStep == "ls -l 'it'\\''s; reboot'")
  }
}
