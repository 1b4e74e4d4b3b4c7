import MonotonicTime
import Testing

@testable import Hub

/// When a sensor that answers counts as silent: after a number of looks in a row, and after their time.
struct SilenceLimitTests {
  private let start = MonotonicInstant(nanoseconds: 1_000_000_000)

  @Test func `the limit is reached with the last of the looks, at their interval`() {
    var limit = SilenceLimit(looks: 5, every: .milliseconds(20))
    let reached = (0..<6).map { limit.isReached(afterEmptyLookAt: start + .milliseconds(20) * $0) }
    #expect(reached == [false, false, false, false, true, true])
  }

  @Test func `a look with a sample starts the count and the time again`() {
    var limit = SilenceLimit(looks: 3, every: .milliseconds(20))
    let before = (0..<2).map { limit.isReached(afterEmptyLookAt: start + .milliseconds(20) * $0) }
    limit.reset()
    let after = (5..<8).map { limit.isReached(afterEmptyLookAt: start + .milliseconds(20) * $0) }
    #expect(before == [false, false] && after == [false, false, true])
  }

  @Test func `looks at a clock that stands still are not enough`() {
    var limit = SilenceLimit(looks: 3, every: .milliseconds(20))
    let still = (0..<1000).contains { _ in limit.isReached(afterEmptyLookAt: start) }
    let later = limit.isReached(afterEmptyLookAt: start + .milliseconds(40))
    #expect(!still && later)
  }

  @Test func `a long pause of the hub is not enough`() {
    var limit = SilenceLimit(looks: 3, every: .milliseconds(20))
    let times = [start, start + .seconds(3600), start + .seconds(3600)]
    let reached = times.map { limit.isReached(afterEmptyLookAt: $0) }
    #expect(reached == [false, false, true])
  }
}
