import MonotonicTime
import Publishing
import TestSupport
import Testing

/// Values that are collected and published together.
@Suite(.timeLimit(.minutes(10)))
struct BatchTests {
  private let source = Subject<Int, Fault>()
  private let clock = ManualClock()
  private let passed = Recorder<Int>()

  private func batch(atMost count: Int = 64) -> Subscription {
    source.batched(over: .seconds(10), atMost: count, clock: clock).subscribe(
      as: "test", receiveValue: { passed.append($0) })
  }

  @Test func `values are held back until the first of them has waited for the interval`() {
    let subscription = batch()
    source.send(1)
    clock.advance(by: .seconds(9))
    source.send(2)
    #expect(passed.values.isEmpty)
    clock.advance(by: .seconds(1))
    #expect(passed.values == [1, 2])
    // Without values there is no timer: the next interval begins with the next value.
    clock.advance(by: .seconds(9))
    source.send(3)
    clock.advance(by: .seconds(9))
    #expect(passed.values == [1, 2])
    clock.advance(by: .seconds(1))
    #expect(passed.values == [1, 2, 3])
    subscription.cancel()
  }

  @Test func `the time for which the machine is suspended counts towards the interval`() {
    let subscription = batch()
    source.send(1)
    clock.advance(by: .seconds(2))
    clock.suspend(for: .seconds(5))
    clock.advance(by: .seconds(2))
    source.send(2)
    #expect(passed.values.isEmpty)
    clock.advance(by: .seconds(1))
    #expect(passed.values == [1, 2])
    // After a suspension that is longer than the interval, the values are due at once.
    source.send(3)
    clock.suspend(for: .seconds(60))
    clock.advance(by: .zero)
    #expect(passed.values == [1, 2, 3])
    // The next batch has the whole interval again.
    source.send(4)
    clock.advance(by: .seconds(9))
    #expect(passed.values == [1, 2, 3])
    clock.advance(by: .seconds(1))
    #expect(passed.values == [1, 2, 3, 4])
    subscription.cancel()
  }

  @Test func `a full batch is published at once`() {
    let subscription = batch(atMost: 3)
    for value in 1...4 { source.send(value) }
    #expect(passed.values == [1, 2, 3])
    clock.advance(by: .seconds(10))
    #expect(passed.values == [1, 2, 3, 4])
    subscription.cancel()
  }

  @Test func `held values are published before the end, and dropped when the subscription is cancelled`() {
    let subscription = batch()
    source.send(1)
    source.finish(.finished)
    #expect(passed.values == [1])
    subscription.cancel()
  }

  @Test func `a cancelled subscriber gets no more values`() {
    let subscription = batch()
    source.send(1)
    subscription.cancel()
    clock.advance(by: .seconds(20))
    #expect(passed.values.isEmpty)
  }
}
