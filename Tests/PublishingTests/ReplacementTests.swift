import Glibc
import Guarding
import MonotonicTime
import Synchronization
import TestSupport
import Testing

@testable import Publishing

/// Replaces an upstream subscription on one thread while another thread delivers or ends it.
@Suite(.timeLimit(.minutes(10)))
struct ReplacementTests {
  let listener = Listener()

  /// A publisher that lets the test send values to each subscriber at any time, like a publisher that serves each
  /// subscriber on a separate thread.
  final class Doors: Publisher {
    typealias Output = Int
    typealias Failure = Fault

    private let subscribers = Guarded<[Subscriber<Int, Fault>]>([])

    var count: Int { subscribers.withLock { $0.count } }

    func attach(_ subscriber: Subscriber<Int, Fault>) -> Subscription {
      subscribers.withLock { $0.append(subscriber) }
      return Subscription {}
    }

    func send(_ value: Int, to index: Int) { subscribers.withLock { $0[index] }.receiveValue(value) }

    func complete(_ index: Int, _ completion: Completion<Fault>) {
      subscribers.withLock { $0[index] }.receiveCompletion(completion)
    }

    /// Releases the subscribers, which retain this publisher through their subscriptions. Cancelling does not release
    /// a subscriber, because the test may send it more values.
    func close() { subscribers.withLock { $0 = [] } }
  }

  /// Runs an action once, just before an action is scheduled, to simulate another thread between two steps.
  final class InterruptedClock: MonotonicTimeSource {
    let hands = ManualClock()
    private let interruption: Guarded<Callback?>

    init(_ interruption: @escaping @Sendable () -> Void) { self.interruption = Guarded(Callback(interruption)) }

    var now: MonotonicInstant { hands.now }
    var minimumResolution: Duration { hands.minimumResolution }

    func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
      let interruption = interruption.withLock { interruption in
        defer { interruption = nil }
        return interruption
      }
      interruption?()
      return hands.schedule(at: deadline, action)
    }
  }

  // MARK: Retrying

  @Test func `a hint during a failure, followed by another failure, leaves only the wait of the last failure`() {
    let doors = Doors()
    defer { doors.close() }
    let hint = Subject<Void, Never>()
    let clock = InterruptedClock {
      hint.send(())
      doors.complete(1, .failed(.again))
    }
    let subscription = listener.subscribe(
      to: doors.retrying(Backoff(initial: .seconds(1), maximum: .seconds(60), factor: 10), hint: hint, clock: clock))
    // When the hint triggers a retry, the wait has begun but its timer is not set yet.
    doors.complete(0, .failed(.broken))
    #expect(doors.count == 2)
    clock.hands.advance(by: .milliseconds(9999))
    #expect(doors.count == 2, "it was tried after the wait of the first failure")
    clock.hands.advance(by: .milliseconds(1))
    #expect(doors.count == 3)
    clock.hands.advance(by: .seconds(3600))
    #expect(doors.count == 3, "a wait that was over had it tried once more")
    subscription.cancel()
  }

  @Test func `a hint during a failure, followed by a success, leaves no wait`() {
    let doors = Doors()
    defer { doors.close() }
    let hint = Subject<Void, Never>()
    let clock = InterruptedClock { hint.send(()) }
    let subscription = listener.subscribe(
      to: doors.retrying(Backoff(initial: .seconds(1), maximum: .seconds(1)), hint: hint, clock: clock))
    doors.complete(0, .failed(.broken))
    doors.send(5, to: 1)
    clock.hands.advance(by: .seconds(3600))
    #expect(doors.count == 2)
    #expect(listener.values == [5])
    subscription.cancel()
  }

  // MARK: Signals

  @Test func `the end of a run that was already replaced does not end the new run`() {
    let current = CurrentSubscription(isExpected: false)
    let places = Recorder<CurrentSubscription.Link>()
    for _ in 0..<2 {
      current.replace { place in
        places.append(place)
        return Subscription {}
      }
    }
    #expect(places.values[0].complete() == nil)
    #expect(!places.values[0].isCurrent { true })
    #expect(!current.close(), "the second run is over")
    #expect(places.values[1].complete() == true)
    #expect(current.close())
  }

  @Test func `a run that ends before it is replaced does not end the publisher`() {
    let current = CurrentSubscription(isExpected: false)
    let places = Recorder<CurrentSubscription.Link>()
    for _ in 0..<2 {
      current.replace { place in
        places.append(place)
        return Subscription {}
      }
      #expect(places.values.last?.complete() == false)
    }
    #expect(current.close())
  }

  /// Runs two closures as simultaneously as threads allow, and returns when both are done.
  private func atOnce(_ first: @escaping @Sendable () -> Void, _ second: () -> Void) {
    let isReady = Atomic(false)
    let mayGo = Atomic(false)
    let isDone = Atomic(false)
    let error = DetachedThread.start("first") {
      isReady.store(true, ordering: .releasing)
      while !mayGo.load(ordering: .acquiring) { sched_yield() }
      first()
      isDone.store(true, ordering: .releasing)
    }
    #expect(error == 0)
    hold { isReady.load(ordering: .acquiring) }
    mayGo.store(true, ordering: .releasing)
    second()
    hold { isDone.load(ordering: .acquiring) }
  }

  @Test func `a run that ends while the signal fires for the last time does not end the publisher`() {
    for round in 0..<300 {
      let doors = Doors()
      defer { doors.close() }
      let listener = Listener()
      let signal = Subject<Void, Never>()
      let subscription = listener.subscribe(to: doors.publishAndRepeat(onOutputFrom: signal))
      atOnce({ doors.complete(0, .finished) }) {
        signal.send(())
        signal.finish(.finished)
      }
      doors.send(round, to: 1)
      doors.complete(1, .finished)
      #expect(listener.events.values == [.subscription, .value(round), .finished])
      subscription.cancel()
    }
  }

  @Test func `no value of a run arrives after a value of the next run`() {
    for _ in 0..<300 {
      let doors = Doors()
      defer { doors.close() }
      let listener = Listener()
      let signal = Subject<Void, Never>()
      let subscription = listener.subscribe(to: doors.publishAndRepeat(onOutputFrom: signal))
      atOnce({ for _ in 0..<20 { doors.send(0, to: 0) } }) {
        signal.send(())
        doors.send(1, to: 1)
      }
      #expect(listener.values.last == 1)
      #expect(listener.values.count { $0 == 1 } == 1)
      subscription.cancel()
    }
  }

  @Test func `a publisher that repeats on a signal completes its first run if the signal has ended`() {
    let source = Subject<Int, Fault>()
    let subscription = listener.subscribe(to: source.publishAndRepeat(onOutputFrom: Empty<Void, Never>()))
    source.send(1)
    source.finish(.finished)
    #expect(listener.events.values == [.subscription, .value(1), .finished])
    subscription.cancel()
  }
}
