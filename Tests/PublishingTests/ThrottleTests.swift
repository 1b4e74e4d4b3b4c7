import Guarding
import MonotonicTime
import Publishing
import TestSupport
import Testing

/// A clock with the correct time, whose timers fire late by an amount that the test chooses.
struct LateClock: MonotonicTimeSource {
  let hands = ManualClock()
  /// Called for each timer.
  let lateness: @Sendable () -> Duration

  var now: MonotonicInstant { hands.now }
  var minimumResolution: Duration { hands.minimumResolution }

  func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
    hands.schedule(at: deadline + lateness(), action)
  }
}

@Suite(.timeLimit(.minutes(10)))
struct ThrottleTests {
  let source = Subject<Int, Fault>()
  /// Values with their time of arrival, in milliseconds since the start.
  let passed = Recorder<[Int]>()

  private func throttle(_ clock: some MonotonicTimeSource) -> Subscription {
    let start = clock.now
    return source.throttled(to: .seconds(1), clock: clock).subscribe(
      as: "test", receiveValue: { passed.append([$0, Int((clock.now - start).inNanoseconds / 1_000_000)]) })
  }

  @Test func `the value after one that a late timer passed on waits for a whole interval`() {
    let clock = ManualClock()
    let subscription = throttle(clock)
    source.send(1)
    source.send(2)
    // The timer is due after 1000 ms and runs after 1999 ms.
    clock.advance(by: .milliseconds(1999))
    clock.advance(by: .milliseconds(1))
    source.send(3)
    #expect(passed.values == [[1, 0], [2, 1999]])
    clock.advance(by: .milliseconds(998))
    #expect(passed.values == [[1, 0], [2, 1999]])
    clock.advance(by: .milliseconds(1))
    #expect(passed.values == [[1, 0], [2, 1999], [3, 2999]])
    subscription.cancel()
  }

  @Test func `a late timer does not pass on a value newer than one that overtook it`() {
    let clock = LateClock { .milliseconds(300) }
    let subscription = throttle(clock)
    source.send(1)
    source.send(2)
    clock.hands.advance(by: .milliseconds(1100))
    source.send(3)
    clock.hands.advance(by: .milliseconds(100))
    source.send(4)
    // The timer for 1000 ms fires here.
    clock.hands.advance(by: .milliseconds(100))
    #expect(passed.values == [[1, 0], [3, 1100]])
    // The timer for 2100 ms fires 300 ms late.
    clock.hands.advance(by: .milliseconds(1100))
    #expect(passed.values == [[1, 0], [3, 1100], [4, 2400]])
    subscription.cancel()
  }

  @Test func `timers that are on time pass values on without drift`() {
    let clock = ManualClock()
    let subscription = throttle(clock)
    for value in 0...40 {
      source.send(value)
      clock.advance(by: .milliseconds(250))
    }
    #expect(passed.values == (0...10).map { [$0 == 0 ? 0 : $0 * 4 - 1, $0 * 1000] })
    subscription.cancel()
  }

  @Test func `a value that arrives while a slow subscriber works is not passed on right after its return`() {
    let clock = ManualClock()
    let start = clock.now
    let subscription = source.throttled(to: .seconds(1), clock: clock).subscribe(
      as: "slow",
      receiveValue: { [source, passed] value in
        passed.append([value, Int((clock.now - start).inNanoseconds / 1_000_000)])
        if value == 2 {
          // The timer passes the value on. The handler takes 1900 ms, during which two more values arrive.
          clock.advance(by: .milliseconds(1000))
          source.send(3)
          clock.advance(by: .milliseconds(900))
          source.send(4)
        }
      })
    source.send(1)
    source.send(2)
    clock.advance(by: .milliseconds(1000))
    #expect(passed.values == [[1, 0], [2, 1000], [4, 2900]])
    source.send(5)
    clock.advance(by: .milliseconds(999))
    #expect(passed.values == [[1, 0], [2, 1000], [4, 2900]])
    clock.advance(by: .milliseconds(1))
    #expect(passed.values == [[1, 0], [2, 1000], [4, 2900], [5, 3900]])
    subscription.cancel()
  }

  @Test func `whatever the timers do, two values are at least an interval apart and the last value arrives`() {
    let seed = Seed()
    for round in 0..<200 {
      let random = Guarded(seed.random(round))
      let clock = LateClock {
        random.withLock { $0.next() % 2 == 0 ? .zero : .milliseconds(Int64($0.next() % 2500)) }
      }
      let source = Subject<Int, Fault>()
      let passed = Recorder<(value: Int, at: MonotonicInstant)>()
      let subscription = source.throttled(to: .seconds(1), clock: clock).subscribe(
        as: "test", receiveValue: { passed.append(($0, clock.now)) })
      for value in 1...50 {
        source.send(value)
        clock.hands.advance(by: .milliseconds(random.withLock { Int64($0.next() % 700) }))
      }
      clock.hands.advance(by: .seconds(5))
      clock.hands.advance(by: .seconds(5))
      let seen = passed.values
      #expect(seen.last?.value == 50, "\(seed), round \(round): the last value was lost")
      #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.value < $1.value }, "\(seed), round \(round): out of order")
      let gaps = zip(seen, seen.dropFirst()).map { $1.at - $0.at }
      #expect(gaps.allSatisfy { $0 >= .seconds(1) }, "\(seed), round \(round): \(gaps)")
      subscription.cancel()
    }
  }

  @Test func `an end during a delivery comes after the delivered value and the last value`() {
    let clock = ManualClock()
    let trace = Recorder<String>()
    let subscription = source.throttled(to: .seconds(1), clock: clock).subscribe(
      as: "ending",
      receiveValue: { [source] value in
        trace.append("\(value)")
        guard value == 2 else { return }
        source.send(3)
        source.finish(.finished)
        trace.append("handled")
      }, receiveCompletion: { trace.append("\($0)") })
    source.send(1)
    source.send(2)
    // The timer passes 2 on, and the handler ends the source.
    clock.advance(by: .seconds(1))
    #expect(trace.values == ["1", "2", "handled", "3", "finished"])
    subscription.cancel()
  }

  @Test func `a cancelled throttle leaves no timer behind`() {
    let clock = ManualClock()
    let subscription = throttle(clock)
    source.send(1)
    source.send(2)
    subscription.cancel()
    clock.advance(by: .seconds(10))
    #expect(passed.values == [[1, 0]])
  }

  // MARK: Debouncing

  @Test func `debouncing passes the latest value on once no other has come for the interval`() {
    let clock = ManualClock()
    let listener = Listener()
    let subscription = listener.subscribe(to: source.debounced(for: .seconds(1), clock: clock))
    for value in 1...5 {
      source.send(value)
      clock.advance(by: .milliseconds(900))
    }
    #expect(listener.values == [])
    clock.advance(by: .milliseconds(100))
    #expect(listener.values == [5])
    clock.advance(by: .seconds(10))
    #expect(listener.values == [5])
    source.send(6)
    clock.advance(by: .seconds(1))
    #expect(listener.values == [5, 6])
    subscription.cancel()
    source.send(7)
    clock.advance(by: .seconds(10))
    #expect(listener.values == [5, 6])
  }

  @Test(arguments: [Completion<Fault>.finished, .failed(.broken)])
  func `debouncing delivers the last value when the source ends`(_ completion: Completion<Fault>) {
    let listener = Listener()
    let subscription = listener.subscribe(to: source.debounced(for: .seconds(1), clock: ManualClock()))
    source.send(1)
    source.send(2)
    source.finish(completion)
    let end: Listener.Event = completion == .finished ? .finished : .failed(.broken)
    #expect(listener.events.values == [.subscription, .value(2), end])
    subscription.cancel()
  }
}
