import MonotonicTime
import Publishing
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct OperatorTests {
  let clock = ManualClock()
  let source = Subject<Int, Fault>()
  let listener = Listener()

  // MARK: Throttle

  @Test func `throttling passes the first value at once and then the latest one at each interval`() async {
    let subscription = listener.subscribe(to: source.throttled(to: .seconds(1), clock: clock))
    source.send(1)
    #expect(listener.values == [1])
    source.send(2)
    source.send(3)
    #expect(listener.values == [1])
    await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    #expect(await listener.values(2) == [1, 3])
    // The interval after a delayed value counts too.
    source.send(4)
    #expect(listener.values == [1, 3])
    await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    #expect(await listener.values(3) == [1, 3, 4])
    clock.advance(by: .seconds(1))
    source.send(5)
    #expect(listener.values == [1, 3, 4, 5])
    subscription.cancel()
  }

  @Test func `throttling delivers the last value when the source ends`() {
    let subscription = listener.subscribe(to: source.throttled(to: .seconds(1), clock: clock))
    source.send(1)
    source.send(2)
    source.finish(.failed(.broken))
    #expect(listener.events.values == [.subscription, .value(1), .value(2), .failed(.broken)])
    subscription.cancel()
  }

  @Test func `each subscriber of a throttled publisher has its own interval`() {
    let throttled = source.throttled(to: .seconds(1), clock: clock)
    let first = listener.subscribe(to: throttled)
    source.send(1)
    let other = Listener()
    let second = other.subscribe(to: throttled)
    source.send(2)
    #expect(listener.values == [1])
    #expect(other.values == [2])
    first.cancel()
    second.cancel()
  }

  // MARK: Signals

  @Test func `the operator that publishes on a signal runs once per signal, and not before the first signal`() {
    let runs = Recorder<String>()
    let cold = Deferred<Int, Fault> { holders in
      runs.append(holders.label)
      return source
    }
    let trigger = Trigger<String>()
    let subscription = listener.subscribe(to: cold.publish(onOutputFrom: trigger.signal(for: "go")))
    #expect(runs.values.isEmpty)
    trigger.activate("stop")
    #expect(runs.values.isEmpty)
    trigger.activate("go")
    source.send(1)
    trigger.activate("go")
    source.send(2)
    #expect(runs.values.count == 2)
    #expect(listener.values == [1, 2])
    subscription.cancel()
  }

  @Test func `publish and repeat runs at once, and again on each signal`() async {
    let bench = Bench()
    let trigger = Trigger<Int>()
    let subscription = listener.subscribe(
      to: bench.publisher().publishAndRepeat(onOutputFrom: trigger.signal(for: 7)))
    #expect(await bench.power.first(1) == [true])
    trigger.activate(7)
    #expect(await bench.power.first(3) == [true, false, true])
    subscription.cancel()
    #expect(await bench.power.first(4) == [true, false, true, false])
  }

  @Test func `a finished run of publish and repeat waits for the next signal`() async {
    let bench = Bench()
    let again = Subject<Void, Never>()
    let subscription = listener.subscribe(to: bench.publisher().publishAndRepeat(onOutputFrom: again))
    bench.order(.end)
    await bench.power.first(2)
    again.send(())
    bench.order(.send(5))
    #expect(await listener.values(1) == [5])
    #expect(!listener.events.values.contains(.finished))
    subscription.cancel()
  }

  @Test func `a failure ends publish and repeat`() {
    let subscription = listener.subscribe(to: source.publishAndRepeat(onOutputFrom: Subject<Void, Never>()))
    source.finish(.failed(.broken))
    #expect(listener.events.values == [.subscription, .failed(.broken)])
    subscription.cancel()
  }

  @Test func `waiting for a signal delays the end but not the values`() {
    let next = Subject<Void, Never>()
    let subscription = listener.subscribe(to: source.wait(untilOutputFrom: next))
    source.send(1)
    source.finish(.finished)
    #expect(listener.events.values == [.subscription, .value(1)])
    next.send(())
    #expect(listener.events.values == [.subscription, .value(1), .finished])
    subscription.cancel()
  }

  // MARK: Combining

  @Test func `accumulate latest waits for a value of each publisher, and then reports every change`() {
    let other = Subject<Int, Fault>()
    let seen = Recorder<[Int]>()
    let subscription = accumulateLatest([source, other]).subscribe(as: "test", receiveValue: { seen.append($0) })
    source.send(1)
    source.send(2)
    #expect(seen.values.isEmpty)
    other.send(10)
    source.send(3)
    #expect(seen.values == [[2, 10], [3, 10]])
    subscription.cancel()
  }

  @Test func `'accumulate latest' of no publishers sends an empty array and finishes`() {
    let seen = Recorder<[Int]>()
    let ends = Recorder<Bool>()
    let subscription = accumulateLatest([any Publisher<Int, Fault>]()).subscribe(
      as: "test", receiveValue: { seen.append($0) }, receiveCompletion: { ends.append($0 == .finished) })
    #expect(seen.values == [[]])
    #expect(ends.values == [true])
    subscription.cancel()
  }

  // MARK: Deferred, shared

  @Test func `a deferred publisher does its work once per subscriber, and a shared publisher once for all of them`() {
    let works = Recorder<String>()
    let cold = Deferred<Int, Fault> { holders in
      works.append(holders.label)
      return source
    }
    let subscriptions = [listener.subscribe(to: cold), Listener().subscribe(to: cold)]
    #expect(works.values.count == 2)
    let shared = cold.shared(as: "hot")
    let more = [listener.subscribe(to: shared), Listener().subscribe(to: shared)]
    #expect(works.values == ["listener", "listener", "listener"])
    for subscription in subscriptions + more { subscription.cancel() }
  }

  // MARK: Retrying

  @Test func `retrying waits longer after each failure in a row, and starts over after a value`() async {
    let bench = Bench()
    let backoff = Backoff(initial: .seconds(1), maximum: .seconds(3))
    let subscription = listener.subscribe(
      to: bench.publisher().retrying(backoff, hint: Subject<Void, Never>(), clock: clock))
    for (failures, delay) in [(1, 1), (2, 2), (3, 3), (4, 3)] {
      bench.order(.fail(.broken))
      await bench.power.first(failures * 2)
      await clock.sleepers(1)
      clock.advance(by: .seconds(delay) - .milliseconds(1))
      #expect(bench.power.values.count == failures * 2)
      clock.advance(by: .milliseconds(1))
    }
    bench.order(.send(1))
    #expect(await listener.values(1) == [1])
    bench.order(.fail(.broken))
    await bench.power.first(10)
    await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    #expect(await bench.power.first(11).last == true)
    subscription.cancel()
    await bench.power.first(12)
  }

  @Test func `a hint ends the wait before a retry`() async {
    let bench = Bench()
    let hint = Subject<Void, Never>()
    let subscription = listener.subscribe(
      to: bench.publisher().retrying(
        Backoff(initial: .seconds(3600), maximum: .seconds(3600)), hint: hint, clock: clock))
    bench.order(.fail(.broken))
    await bench.power.first(2)
    await clock.sleepers(1)
    hint.send(())
    #expect(await bench.power.first(3) == [true, false, true])
    subscription.cancel()
    await bench.power.first(4)
  }

  // MARK: Action

  @Test func `an action runs only once at a time, and reports that it is executing`() {
    let action = Action<Int, Int, Fault> { _ in source }
    let busy = Recorder<Bool>()
    let watching = action.isExecuting.subscribe(as: "test", receiveValue: { busy.append($0) })
    let outcomes = Recorder<String>()
    func start(_ name: String) -> Subscription {
      action.apply(1).subscribe(
        as: Holder(name), receiveValue: { outcomes.append("\(name) \($0)") },
        receiveCompletion: { outcomes.append("\(name) \($0)") })
    }
    let first = start("first")
    let second = start("second")
    #expect(outcomes.values == ["second failed(it is busy: try again when the present action has ended)"])
    source.send(5)
    source.finish(.finished)
    #expect(outcomes.values.suffix(2) == ["first 5", "first finished"])
    let third = start("third")
    third.cancel()
    let fourth = start("fourth")
    fourth.cancel()
    #expect(busy.values == [false, true, false, true, false, true, false])
    for subscription in [watching, first, second] { subscription.cancel() }
  }

  // MARK: Recording

  @Test func `a recording plays back with its timing to each subscriber`() async {
    let recording = Recording<Int, Fault>(
      [.init(offset: .zero, value: 1), .init(offset: .seconds(2), value: 2)],
      completion: (.seconds(3), .failed(.again)), clock: clock)
    let subscription = listener.subscribe(to: recording)
    #expect(await listener.values(1) == [1])
    await clock.sleepers(1)
    clock.advance(by: .seconds(2))
    #expect(await listener.values(2) == [1, 2])
    await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    #expect(await listener.events.first(4).last == .failed(.again))
    let other = Listener()
    let again = other.subscribe(to: recording)
    #expect(await other.values(1) == [1])
    again.cancel()
    clock.advance(by: .seconds(60))
    #expect(other.values == [1], "a cancelled playback goes on")
    subscription.cancel()
  }

  // MARK: Properties

  @Test func `a property sends its current value and then its changes`() {
    let property = MutableProperty(1)
    let seen = Recorder<Int>()
    let subscription = property.readOnly.subscribe(as: "test", receiveValue: { seen.append($0) })
    property.value = 2
    #expect(property.readOnly.value == 2)
    #expect(seen.values == [1, 2])
    subscription.cancel()
    property.value = 3
    #expect(seen.values == [1, 2])
  }
}

@Suite(.timeLimit(.minutes(10)))
struct BufferedValuesTests {
  @Test func `a slow consumer gets the newest values and the number of dropped ones`() async throws {
    let property = MutableProperty(0)
    var iterator = property.readOnly.values(as: "slow", buffering: .newest(3)).makeAsyncIterator()
    #expect(await iterator.next() == 0)
    for value in 1...10 { property.value = value }
    #expect(iterator.droppedCount == 7)
    #expect(await iterator.next() == 8)
    #expect(await iterator.next() == 9)
    #expect(await iterator.next() == 10)
  }

  @Test func `the sequence ends once with the typed failure`() async {
    let failing = LazyPublisher<Int, Fault>(
      "failing",
      reading: { (run) throws(Fault) in
        run.send(1)
        throw .broken
      })
    var iterator = failing.values(as: "test").makeAsyncIterator()
    var seen: [Int?] = []
    do throws(Fault) {
      while true { seen.append(try await iterator.next()) }
    } catch {
      #expect(error == .broken)
    }
    #expect(seen == [1])
    #expect(await (try? iterator.next()) == .some(nil))
  }
}
