import Publishing
import TestSupport
import Testing

@testable import Outputs

struct LogSubjectTests {
  @Test func `each reader of the log gets each line until it cancels`() {
    let subject = LogSubject()
    let first = Recorder<String>()
    let second = Recorder<String>()
    let one = subject.observe { first.append($0.message) }
    let other = subject.observe { second.append($0.message) }
    subject.send(LogEntry(.notice, "a"))
    one.cancel()
    subject.send(LogEntry(.notice, "b"))
    other.cancel()
    subject.send(LogEntry(.notice, "c"))
    #expect(first.values == ["a"] && second.values == ["a", "b"])
  }
}
