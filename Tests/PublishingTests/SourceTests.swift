import Guarding
import MonotonicTime
import Publishing
import TestSupport
import Testing

/// The kinds of sources, and the operators on them, without a device.
@Suite(.timeLimit(.minutes(10)))
struct SourceTests {
  let clock = ManualClock()
  let listener = Listener()

  // MARK: Lazy publishers

  @Test func `a body in a trailing closure runs on its own thread`() async {
    let publisher = LazyPublisher<Int, Never>("counter") { context in
      var count = 0
      while !context.stop.isSet {
        count += 1
        context.send(count)
      }
    }
    let subscription = listener.subscribe(to: publisher)
    #expect(await listener.values(3).prefix(3) == [1, 2, 3])
    subscription.cancel()
    #expect(publisher.activity.waits { $0.phase == .idle })
  }

  @Test func `a derived publisher holds its upstream only while it has a subscriber`() {
    let upstream = LazyPublisher<Int, Never>(deriving: "upstream") { _ in Subscription {} }
    let derived = LazyPublisher<Int, Never>(deriving: "derived") { run in
      upstream.subscribe(as: run.holders, receiveValue: { run.send($0) })
    }
    #expect(upstream.holders == [])
    let subscription = listener.subscribe(to: derived)
    #expect(upstream.holders == ["listener"])
    subscription.cancel()
    #expect(upstream.holders == [])
  }

  // MARK: Values at hand

  @Test func `the publisher 'just' sends one value and the end to each subscriber`() {
    let publisher = Just(7)
    let subscriptions = [listener.subscribe(to: publisher), listener.subscribe(to: publisher)]
    #expect(listener.events.values == [.value(7), .finished, .value(7), .finished])
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `the publisher 'empty' ends at once, or never`() {
    let subscription = listener.subscribe(to: Empty<Int, Fault>())
    #expect(listener.events.values == [.subscription, .finished])
    let other = Listener()
    let never = other.subscribe(to: Empty<Int, Fault>(completesImmediately: false))
    #expect(other.events.values == [.subscription])
    subscription.cancel()
    never.cancel()
    #expect(other.events.values == [.subscription])
  }

  @Test func `the publisher 'fail' fails at once`() {
    let subscription = listener.subscribe(to: Fail<Int, Fault>(.broken))
    #expect(listener.events.values == [.subscription, .failed(.broken)])
    subscription.cancel()
  }

  @Test func `a sequence sends its elements and ends`() {
    let subscription = listener.subscribe(to: [3, 1, 2].publisher)
    #expect(listener.events.values == [.value(3), .value(1), .value(2), .finished])
    subscription.cancel()
  }

  @Test func `an endless sequence is sent until the subscriber cancels`() {
    let held = Guarded<Subscription?>(nil)
    let seen = Recorder<Int>()
    let subscription = (1...).publisher.map { $0 * 10 }.subscribe(
      as: "test", receiveSubscription: { subscription in held.withLock { $0 = subscription } },
      receiveValue: { value in
        seen.append(value)
        if value == 30 { held.withLock { $0 }?.cancel() }
      })
    #expect(seen.values == [10, 20, 30])
    held.withLock { $0 = nil }
    subscription.cancel()
  }

  // MARK: Asynchronous sequences

  @Test func `an asynchronous sequence sends its elements and then ends as the sequence does`() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    let subscription = listener.subscribe(to: stream.publisher)
    continuation.yield(1)
    #expect(await listener.values(1) == [1])
    continuation.yield(2)
    continuation.finish()
    #expect(await listener.events.first(3) == [.value(1), .value(2), .finished])
    subscription.cancel()
  }

  @Test func `an asynchronous sequence fails with its own error`() async {
    let failing = LazyPublisher<Int, Fault>("failing") { (context) throws(Fault) in
      context.send(1)
      throw .broken
    }
    let subscription = listener.subscribe(to: failing.values(as: "sequence").publisher)
    #expect(await listener.events.first(3) == [.subscription, .value(1), .failed(.broken)])
    subscription.cancel()
  }

  @Test func `cancelling ends the iteration and releases what it holds`() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    let hasEnded = Recorder<Bool>()
    continuation.onTermination = { _ in hasEnded.append(true) }
    let subscription = listener.subscribe(to: stream.publisher)
    continuation.yield(1)
    #expect(await listener.values(1) == [1])
    subscription.cancel()
    await hasEnded.first(1)
    continuation.yield(2)
    #expect(listener.events.values == [.value(1)])
  }

  @Test func `a shared asynchronous sequence is iterated once for all`() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    let shared = stream.publisher.shared(as: "numbers")
    let other = Listener()
    let subscriptions = [listener.subscribe(to: shared), other.subscribe(to: shared)]
    for value in 1...3 { continuation.yield(value) }
    #expect(await listener.values(3) == [1, 2, 3])
    #expect(await other.values(3) == [1, 2, 3])
    continuation.finish()
    for subscription in subscriptions { subscription.cancel() }
  }

  // MARK: Ticks

  @Test func `a clock's ticks start for each subscriber when it subscribes, without drift`() {
    let start = clock.now
    let seen = Recorder<Duration>()
    let subscription = clock.ticks(every: .seconds(2)).subscribe(
      as: "test", receiveValue: { seen.append($0 - start) })
    #expect(seen.values.isEmpty)
    // The first timer is 300 ms late, but the tick contains the time at which it was due.
    clock.advance(by: .milliseconds(2300))
    clock.advance(by: .milliseconds(1700))
    #expect(seen.values == [.seconds(2), .seconds(4)])
    // The time of three ticks passes at once: one tick is sent, and the next one on schedule.
    clock.advance(by: .milliseconds(6500))
    clock.advance(by: .milliseconds(1500))
    #expect(seen.values == [.seconds(2), .seconds(4), .seconds(6), .seconds(12)])
    subscription.cancel()
    clock.advance(by: .seconds(10))
    #expect(seen.values.count == 4)
  }

  @Test func `ticks can be cancelled from inside their handler`() {
    let lifetime = Lifetime()
    let seen = Recorder<MonotonicInstant>()
    clock.ticks(every: .seconds(1)).subscribe(
      as: "test",
      receiveValue: { tick in
        seen.append(tick)
        lifetime.end()
      }
    ).store(in: lifetime)
    for _ in 0..<5 { clock.advance(by: .seconds(1)) }
    #expect(seen.values.count == 1)
  }

  @Test func `the machine's clock sends ticks`() async {
    let seen = Recorder<MonotonicInstant>()
    let subscription = MonotonicClock().ticks(every: .milliseconds(2)).subscribe(
      as: "test", receiveValue: { seen.append($0) })
    let ticks = await seen.first(3)
    subscription.cancel()
    let gaps = zip(ticks, ticks.dropFirst()).map { ($1 - $0).inNanoseconds }
    #expect(gaps.allSatisfy { $0 > 0 && $0 % 2_000_000 == 0 })
  }

  // MARK: Merging

  @Test func `merged publishers send values as they arrive, and finish when all have finished`() {
    let sources = (0..<3).map { _ in Subject<Int, Fault>() }
    let subscription = listener.subscribe(to: sources[0].merge(with: sources[1], sources[2]))
    sources[1].send(1)
    sources[0].send(2)
    sources[0].finish(.finished)
    sources[2].send(3)
    sources[1].finish(.finished)
    #expect(listener.events.values == [.subscription, .value(1), .value(2), .value(3)])
    sources[2].finish(.finished)
    #expect(listener.events.values.last == .finished)
    subscription.cancel()
  }

  @Test func `merged publishers fail when one fails, and release the others`() {
    let failing = Subject<Int, Fault>()
    let lazy = LazyPublisher<Int, Fault>(deriving: "other") { _ in Subscription {} }
    let subscription = listener.subscribe(to: merge([failing, lazy]))
    #expect(lazy.activity.value.phase != .idle)
    failing.finish(.failed(.broken))
    #expect(listener.events.values == [.subscription, .failed(.broken)])
    #expect(lazy.activity.value.phase == .idle)
    subscription.cancel()
  }

  @Test func `merging no publishers finishes at once, and immediate values are sent in turn`() {
    let subscription = listener.subscribe(to: merge([any Publisher<Int, Never>]()))
    #expect(listener.events.values == [.finished])
    let other = Listener()
    let numbers = other.subscribe(to: Just(1).merge(with: [2, 3].publisher, Empty()))
    #expect(other.events.values == [.value(1), .value(2), .value(3), .finished])
    subscription.cancel()
    numbers.cancel()
  }

  @Test func `a merge that has failed does not subscribe to the remaining publishers`() {
    let subscribed = Recorder<Holders>()
    let last = Deferred<Int, Fault> { holders in
      subscribed.append(holders)
      return Empty()
    }
    let subscription = listener.subscribe(to: merge([Fail<Int, Fault>(.broken), last]))
    #expect(listener.events.values == [.subscription, .failed(.broken)])
    #expect(subscribed.values.isEmpty)
    subscription.cancel()
  }

  // MARK: The first value

  @Test func `the operator 'first' passes one value on and cancels its subscription`() async {
    let bench = Bench()
    let subscription = listener.subscribe(to: bench.publisher().first())
    for value in 1...3 { bench.order(.send(value)) }
    #expect(await listener.events.first(3) == [.subscription, .value(1), .finished])
    #expect(await bench.power.first(2) == [true, false])
    subscription.cancel()
    #expect(listener.values == [1])
  }

  @Test func `the operator 'first' with a condition passes on only the first value that meets it`() {
    let subscription = listener.subscribe(to: (1...).publisher.map { $0 * 7 }.first { $0 % 10 == 0 })
    #expect(listener.events.values == [.value(70), .finished])
    subscription.cancel()
  }

  @Test func `the operator 'first' ends as its publisher does if there is no value`() {
    let subscription = listener.subscribe(to: Empty<Int, Fault>().first())
    let other = Listener()
    let failed = other.subscribe(to: Fail<Int, Fault>(.again).first())
    #expect(listener.events.values == [.subscription, .finished])
    #expect(other.events.values == [.subscription, .failed(.again)])
    subscription.cancel()
    failed.cancel()
  }

  @Test func `a value that an activation sends after its end is dropped`() {
    let publisher = LazyPublisher<Int, Fault>(deriving: "talkative") { run in
      run.send(1)
      run.finish(.finished)
      #expect(run.isOver)
      run.send(2)
      return Subscription {}
    }
    let subscription = listener.subscribe(to: publisher)
    #expect(listener.events.values == [.subscription, .value(1), .finished])
    subscription.cancel()
  }

  @Test func `an activation that fails cancels its upstream subscriptions`() {
    let upstream = LazyPublisher<Int, Fault>(deriving: "upstream") { _ in Subscription {} }
    let failing = LazyPublisher<Int, Fault>(deriving: "failing") { (run) throws(Fault) in
      _ = run.subscribe(to: upstream, receiveValue: { run.send($0) })
      throw .broken
    }
    let subscription = listener.subscribe(to: failing)
    #expect(listener.events.values == [.subscription, .failed(.broken)])
    #expect(upstream.activity.value.phase == .idle)
    subscription.cancel()
  }

  @Test func `a derived publisher can forget its latest value while it goes on`() {
    let upstream = Subject<Int?, Never>()
    let derived = LazyPublisher<Int, Never>(deriving: "derived", replaysLatest: true) { run in
      upstream.subscribe(
        as: run.holders, receiveValue: { if let value = $0 { run.send(value) } else { run.forgetLatest() } })
    }
    let (first, second, third) = (Listener(), Listener(), Listener())
    let lifetime = Lifetime()
    first.subscribe(to: derived).store(in: lifetime)
    upstream.send(1)
    second.subscribe(to: derived).store(in: lifetime)
    upstream.send(nil)
    third.subscribe(to: derived).store(in: lifetime)
    upstream.send(2)
    #expect(first.events.values == [.value(1), .value(2)])
    #expect(second.events.values == [.value(1), .value(2)])
    #expect(third.events.values == [.value(2)])
    lifetime.end()
  }
}
