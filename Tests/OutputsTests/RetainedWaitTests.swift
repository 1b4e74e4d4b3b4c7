import MonotonicTime
import Testing

@testable import Outputs

/// A broker's messages at given times, in milliseconds after the connection.
struct RetainedWaitTests {
  private enum Said { case answer, message, lost }

  /// Waits like a command; returns the number of messages and the end of the wait in milliseconds.
  private func wait(_ said: [(at: Int64, Said)]) throws -> (messages: Int, end: Int64) {
    let start = MonotonicInstant(nanoseconds: 1_000_000_000)
    var (now, messages, hasSubscribed) = (start, 0, false)
    var coming = said.map { (at: start + .milliseconds($0.at), what: $0.1) }[...]
    var retained = RetainedWait(from: start)
    while let deadline = retained.deadline(at: now, hasSubscribed: hasSubscribed) {
      #expect(deadline > now)
      var hasCome = false
      while let next = coming.first, next.at <= deadline, !hasCome {
        coming.removeFirst()
        now = max(now, next.at)
        switch next.what {
        case .answer: hasSubscribed = true
        case .lost: hasSubscribed = false
        case .message:
          messages += 1
          hasCome = true
        }
      }
      if !hasCome {
        now = deadline
        retained.nothingCame(hasSubscribed: hasSubscribed)
      }
    }
    return (messages, (now.nanoseconds - start.nanoseconds) / 1_000_000)
  }

  @Test func `retained messages come with the answer, and the wait ends half a second after the last`() throws {
    let (messages, end) = try wait([(40, .answer), (41, .message), (42, .message), (430, .message)])
    #expect(messages == 3)
    #expect(end == 930)
  }

  @Test func `the wait for a broker without retained messages ends after a second`() throws {
    let (messages, end) = try wait([(40, .answer)])
    #expect(messages == 0)
    // The answer came during the first half second of waiting, so that half second proves nothing.
    #expect(end == 1000)
  }

  @Test func `the wait continues until a slow broker has answered`() throws {
    let (messages, end) = try wait([(2700, .answer), (2800, .message)])
    #expect(messages == 1)
    #expect(end == 3300)
  }

  @Test func `an answer just before the end of the wait extends it by half a second`() throws {
    #expect(try wait([(499, .answer), (510, .message)]).messages == 1)
  }

  @Test func `endless messages end the wait after five seconds`() throws {
    let (messages, end) = try wait([(10, .answer)] + (1...100).map { (at: Int64($0) * 100, Said.message) })
    #expect(messages == 50)
    #expect(end == 5000)
  }

  @Test func `after a lost connection, the wait continues until the broker has answered again`() throws {
    let (messages, end) = try wait(
      [(10, .answer), (20, .message), (30, .lost), (1900, .answer), (1910, .message)])
    #expect(messages == 2)
    #expect(end == 2410)
  }

  @Test func `the wait for a broker that never answers ends after five seconds`() throws {
    let (messages, end) = try wait([])
    #expect(messages == 0)
    #expect(end == 5000)
  }
}
