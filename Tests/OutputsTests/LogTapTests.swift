import Publishing
import TestSupport
import Testing

@testable import Outputs

struct LogTapTests {
  @Test func `each who listens to the log hears each line, until he has heard enough`() {
    let tap = LogTap()
    let first = Recorder<String>()
    let second = Recorder<String>()
    let one = tap.observe { first.append($0.message) }
    let other = tap.observe { second.append($0.message) }
    tap.send(LogEntry(.notice, "a"))
    one.cancel()
    tap.send(LogEntry(.notice, "b"))
    other.cancel()
    tap.send(LogEntry(.notice, "c"))
    #expect(first.values == ["a"] && second.values == ["a", "b"])
  }
}
