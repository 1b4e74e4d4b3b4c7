import TestSupport
import Testing

@testable import Outputs

/// When an absent broker is tried again.
struct ReconnectBackoffTests {
  @Test func `reconnections come at growing intervals, and at most once a minute after ten minutes`() {
    var random = SeededRandom(seed: 7)
    for _ in 0..<100 {
      var backoff = ReconnectBackoff(using: SeededRandom(seed: random.next()))
      var sum = Duration.zero
      var waits: [Duration] = []
      while sum < .seconds(3600) {
        waits.append(backoff.next())
        if sum > .seconds(600) { #expect(waits.last! >= .seconds(60)) }
        sum += waits.last!
      }
      #expect(waits[0] <= .seconds(1))
      #expect(waits.allSatisfy { $0 <= .seconds(90) })
      backoff.reset()
      #expect(backoff.next() <= .seconds(1))
    }
  }

  @Test func `many clients do not reconnect at the same instant`() {
    var random = SeededRandom(seed: 8)
    let waits = (0..<1000).map { _ in
      var backoff = ReconnectBackoff(using: SeededRandom(seed: random.next()))
      return backoff.next().components.attoseconds / 10_000_000_000_000_000
    }
    // No hundredth of a second has a tenth of the tries.
    #expect(Dictionary(grouping: waits, by: { $0 }).values.allSatisfy { $0.count < 100 })
  }

  @Test func `a thousand clients without a viewer reconnect spread over ten seconds`() {
    var random = SeededRandom(seed: 9)
    let waits = (0..<1000).map { _ in
      var backoff = ReconnectBackoff(using: SeededRandom(seed: random.next()))
      return backoff.nextGivingWay()
    }
    #expect(waits.allSatisfy { $0 >= .milliseconds(500) && $0 <= .seconds(10) })
    let sorted = waits.sorted()
    for (index, wait) in sorted.enumerated() {
      #expect(sorted[index...].prefix { $0 < wait + .seconds(1) }.count < 1000 / 6)
    }
  }

  @Test func `giving way once does not bring a client back sooner the next time`() {
    var random = SeededRandom(seed: 10)
    for _ in 0..<100 {
      var backoff = ReconnectBackoff(using: SeededRandom(seed: random.next()))
      _ = backoff.nextGivingWay()
      #expect(backoff.next() >= .seconds(1))
      for _ in 0..<10 { _ = backoff.next() }
      #expect(backoff.nextGivingWay() >= .seconds(60))
    }
  }
}
