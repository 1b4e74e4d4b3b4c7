import Glibc
import Guarding
import HardwareIO
import TestSupport
import Testing

@testable import Outputs

/// Work that waits for a disk, on its own threads.
@Suite(.timeLimit(.minutes(10))) struct ReadingThreadsTests {
  private let threads = ReadingThreads()

  /// Jobs that end when they are told to.
  private final class Jobs: Sendable {
    let begun = Recorder<Int>()
    private let mayEnd = Guarded(false)

    func run(_ number: Int) -> Int {
      begun.append(number)
      hold { mayEnd.withLock { $0 } }
      return number
    }

    func end() { mayEnd.withLock { $0 = true } }
  }

  @Test func `two readings run at once, and the others wait for their turn`() async throws {
    let jobs = Jobs()
    let results = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<10 { group.addTask { [threads] in try await threads.run { jobs.run(number) } } }
      await jobs.begun.first(2)
      #expect(jobs.begun.values.count == 2)
      jobs.end()
      return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
    }
    #expect(results == Set(0..<10))
  }

  @Test func `a client is refused while too many readings wait, and may come again`() async throws {
    let jobs = Jobs()
    let refusals = Recorder<Int>()
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<100 {
        group.addTask { [threads] in
          do {
            _ = try await threads.run { jobs.run(number) }
          } catch {
            refusals.append(number)
          }
        }
      }
      // Two jobs run and 32 wait, or fewer if no job had been started when the others came.
      await refusals.first(66)
      #expect(jobs.begun.values.count <= 2)
      jobs.end()
    }
    #expect((32...34).contains(jobs.begun.values.count))
    #expect(Set(refusals.values + jobs.begun.values) == Set(0..<100))
    #expect(try await threads.run { 7 } == 7)
  }

  @Test func `a refused client learns whether there are too many readings or no thread for them`() async {
    let threads = ReadingThreads(startThread: { _ in EAGAIN })
    do {
      let number = try await threads.run { 7 }
      Issue.record("read \(number) without a thread")
    } catch {
      #expect("\(error)".contains("the system has no thread left"), "\(error)")
    }
  }

  @Test func `without readings there is no thread`() async throws {
    for number in 0..<50 { #expect(try await threads.run { number } == number) }
    let names = { () -> [String] in
      Files.names(in: "/proc/self/task").compactMap { task in
        (try? Files.bytes(of: "/proc/self/task/\(task)/comm")).map { String(decoding: $0.dropLast(), as: UTF8.self) }
      }
    }
    // Only the kernel's list of threads shows that a thread has ended. Other tests may have a thread of this name for a
    // moment.
    #expect(eventually { !names().contains("history") })
  }
}

/// Reading in pages.
@Suite(.timeLimit(.minutes(10))) struct PagedReadingTests {
  private enum Fault: Error { case broken }

  private let threads = ReadingThreads()

  @Test func `a page is read only when it is requested`() async throws {
    let fetched = Recorder<Int>()
    let pages = PagedReading(on: threads, from: 0) { (page: Int) throws(Never) in
      fetched.append(page)
      return (page * 10, page < 3 ? page + 1 : nil)
    }
    #expect(fetched.values.isEmpty)
    for page in 0..<4 {
      #expect(try await pages.next() == page * 10)
      #expect(fetched.values == Array(0...page))
    }
    #expect(try await pages.next() == nil)
    #expect(fetched.values == [0, 1, 2, 3])
  }

  @Test func `an unreadable page is an error after the pages before it`() async throws {
    let pages = PagedReading(on: threads, from: 0) { (page: Int) throws(Fault) in
      if page == 1 { throw .broken }
      return (page, page + 1)
    }
    #expect(try await pages.next() == 0)
    await #expect(throws: Fault.broken) { try await pages.next() }
  }
}
