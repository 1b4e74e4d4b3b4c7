import Guarding
import MonotonicTime
import Publishing
import TestSupport
import Testing

/// The nine promises of `LazyPublisher`, in one section each.
@Suite(.timeLimit(.minutes(10)))
struct LazyPublisherTests {
  let bench = Bench()

  // MARK: 1. Starting and stopping

  @Test func `nothing runs before the first subscriber`() {
    let publisher = bench.publisher()
    #expect(publisher.activity.value.phase == .idle)
    #expect(bench.power.values.isEmpty)
  }

  @Test func `the first subscriber starts the source, and the source stops when the last one leaves`() async {
    let publisher = bench.publisher()
    let first = Listener().subscribe(to: publisher)
    #expect(await bench.power.first(1) == [true])
    let second = Listener().subscribe(to: publisher)
    first.cancel()
    #expect(bench.isOn)
    second.cancel()
    #expect(await bench.power.first(2) == [true, false])
  }

  @Test func `the source stays on for its idle timeout after the last subscriber has left`() async {
    let publisher = bench.publisher(LifecycleTiming(idleTimeout: .seconds(5)))
    let subscription = Listener().subscribe(to: publisher)
    await bench.power.first(1)
    subscription.cancel()
    #expect(publisher.activity.value.phase == .lingering)
    await bench.clock.sleepers(1)
    bench.clock.advance(by: .seconds(4))
    #expect(bench.isOn)
    bench.clock.advance(by: .seconds(1))
    #expect(await bench.power.first(2) == [true, false])
    // The source is idle for the reason for which it was told to stop.
    #expect(publisher.activity.waits { $0.phase == .idle })
    #expect(publisher.activity.value.reason == "no subscriber came back")
  }

  /// A policy that increases the idle timeout by one second each time.
  private final class Growing: IdleTimeoutPolicy {
    let visits = Recorder<String>()

    func firstCame(_ holder: Holder, at now: MonotonicInstant) { visits.append("\(holder.label) came") }

    func lastLeft(_ holder: Holder, at now: MonotonicInstant) -> IdleTimeout {
      visits.append("\(holder.label) left")
      return IdleTimeout(.seconds(visits.values.count { $0 == "second left" }), reason: "growing")
    }
  }

  @Test
  func `the idle timeout policy is asked when the last subscriber leaves, and the activity states reason and end`()
    async
  {
    let policy = Growing()
    let publisher = bench.publisher(LifecycleTiming(idleTimeout: .seconds(60)), idleTimeoutPolicy: policy)
    for seconds in [1, 2] {
      let (first, second) = (
        Listener().subscribe(to: publisher, as: "first"), Listener().subscribe(to: publisher, as: "second")
      )
      #expect(bench.power.waits { $0.last == true })
      first.cancel()
      second.cancel()
      let activity = publisher.activity.value
      #expect(activity.phase == .lingering && activity.reason == "growing")
      #expect(activity.until == bench.clock.now + .seconds(seconds))
      await bench.clock.sleepers(1)
      bench.clock.advance(by: .seconds(seconds))
      await bench.power.first(2 * seconds)
      #expect(!bench.isOn)
      #expect(publisher.activity.waits { $0.phase == .idle })
      #expect(publisher.activity.value.until == nil)
    }
    #expect(policy.visits.values == ["first came", "second left", "first came", "second left"])
  }

  @Test func `a subscriber that arrives during the idle timeout cancels the stop without a power cycle`() async {
    let publisher = bench.publisher(LifecycleTiming(idleTimeout: .seconds(5)))
    Listener().subscribe(to: publisher).cancel()
    await bench.power.first(1)
    await bench.clock.sleepers(1)
    let listener = Listener()
    let subscription = listener.subscribe(to: publisher)
    bench.clock.advance(by: .seconds(60))
    bench.order(.send(1))
    #expect(await listener.values(1) == [1])
    #expect(bench.power.values == [true])
    subscription.cancel()
    await bench.clock.sleepers(1)
    bench.clock.advance(by: .seconds(5))
    #expect(await bench.power.first(2) == [true, false])
  }

  // MARK: 2. Runs never overlap; dwell times

  @Test func `a restart waits until the previous run has left its scope`() async {
    let clock = ManualClock()
    let trace = Recorder<String>()
    let mayLeave = StopSignal()
    let publisher = LazyPublisher<Int, Fault>("slow to stop", clock: clock) { (run) throws(Fault) in
      trace.append("in")
      hold { run.stop.isSet }
      hold { mayLeave.isSet }
      trace.append("out")
    }
    Listener().subscribe(to: publisher).cancel()
    let again = Listener().subscribe(to: publisher)
    await trace.first(1)
    #expect(publisher.activity.value.phase == .stopping)
    mayLeave.set()
    #expect(await trace.first(3) == ["in", "out", "in"])
    again.cancel()
    #expect(await trace.first(4) == ["in", "out", "in", "out"])
  }

  @Test func `the source stays off for its minimum time`() async {
    let publisher = bench.publisher(LifecycleTiming(minimumOff: .seconds(3)))
    Listener().subscribe(to: publisher).cancel()
    await bench.power.first(2)
    _ = await phases(of: publisher) { $0.last == .idle }
    let again = Listener().subscribe(to: publisher)
    #expect(publisher.activity.value.phase == .starting)
    await bench.clock.sleepers(1)
    bench.clock.advance(by: .seconds(2))
    #expect(bench.power.values == [true, false])
    bench.clock.advance(by: .seconds(1))
    #expect(await bench.power.first(3) == [true, false, true])
    again.cancel()
    await bench.power.first(4)
  }

  @Test func `the source stays on for its minimum time`() async {
    let publisher = bench.publisher(LifecycleTiming(minimumOn: .seconds(10)))
    Listener().subscribe(to: publisher).cancel()
    await bench.power.first(1)
    await bench.clock.sleepers(1)
    bench.clock.advance(by: .seconds(9))
    #expect(bench.isOn)
    bench.clock.advance(by: .seconds(1))
    #expect(await bench.power.first(2) == [true, false])
  }

  @Test func `the timing may change while the source runs, is in its idle timeout or is off`() async {
    let publisher = bench.publisher(LifecycleTiming(idleTimeout: .seconds(5), minimumOn: .seconds(10)))
    let began = bench.clock.now
    let first = Listener().subscribe(to: publisher)
    await bench.power.first(1)
    publisher.changeTiming(to: LifecycleTiming(idleTimeout: .seconds(5), minimumOn: .seconds(20)))
    first.cancel()
    #expect(publisher.activity.value.until == began + .seconds(20))
    for (seconds, until) in [(30, 30), (0, 5), (60, 60)] {
      publisher.changeTiming(to: LifecycleTiming(idleTimeout: .seconds(5), minimumOn: .seconds(Int64(seconds))))
      #expect(publisher.activity.value.phase == .lingering)
      #expect(publisher.activity.value.until == began + .seconds(Int64(until)))
    }
    bench.clock.advance(by: .seconds(15))
    #expect(bench.power.values == [true])
    // The idle timeout of the new timing has already passed.
    publisher.changeTiming(to: LifecycleTiming(idleTimeout: .seconds(5), minimumOff: .seconds(8)))
    #expect(await bench.power.first(2) == [true, false])
    _ = await phases(of: publisher) { $0.last == .idle }
    let again = Listener().subscribe(to: publisher)
    #expect(publisher.activity.value.phase == .starting)
    for seconds in [9, 4] {
      publisher.changeTiming(to: LifecycleTiming(minimumOff: .seconds(Int64(seconds))))
      bench.clock.advance(by: .seconds(3))
    }
    #expect(await bench.power.first(3) == [true, false, true])
    again.cancel()
    await bench.power.first(4)
  }

  @Test func `the minimum time on counts from when the supply was switched on`() async {
    let clock = ManualClock()
    let power = Recorder<Bool>()
    let isUp = Recorder<Bool>()
    let mayRise = StopSignal()
    let publisher = LazyPublisher<Int, Fault>(
      "slow to rise", timing: LifecycleTiming(minimumOn: .seconds(10)), clock: clock
    ) { (run) throws(Fault) in
      hold { mayRise.isSet }
      power.append(true)
      run.switchedOn()
      isUp.append(true)
      hold { run.stop.isSet }
      power.append(false)
    }
    let subscription = Listener().subscribe(to: publisher)
    clock.advance(by: .seconds(4))
    subscription.cancel()
    await clock.sleepers(1)
    clock.advance(by: .seconds(5))
    mayRise.set()
    #expect(isUp.waits { $0 == [true] })
    clock.advance(by: .seconds(9))
    #expect(power.values == [true])
    clock.advance(by: .seconds(1))
    #expect(await power.first(2) == [true, false])
  }

  @Test func `a subscriber that leaves during the minimum time off leaves the source off`() async {
    let publisher = bench.publisher(LifecycleTiming(minimumOff: .seconds(3)))
    Listener().subscribe(to: publisher).cancel()
    await bench.power.first(2)
    _ = await phases(of: publisher) { $0.last == .idle }
    Listener().subscribe(to: publisher).cancel()
    bench.clock.advance(by: .seconds(60))
    #expect(publisher.activity.value.phase == .idle)
    #expect(bench.power.values == [true, false])
  }

  // MARK: 3. One order for all

  @Test func `all subscribers get the same values in the same order from the moment they joined`() async {
    let publisher = bench.publisher()
    let early = Listener()
    let late = Listener()
    let first = early.subscribe(to: publisher)
    bench.order(.send(1))
    _ = await early.values(1)
    let second = late.subscribe(to: publisher)
    for value in 2...50 { bench.order(.send(value)) }
    #expect(await early.values(50) == Array(1...50))
    #expect(await late.values(49) == Array(2...50))
    first.cancel()
    second.cancel()
    await bench.power.first(2)
  }

  @Test func `replaying gives the latest value on joining`() async {
    let publisher = bench.publisher(replaysLatest: true)
    let early = Listener()
    let first = early.subscribe(to: publisher)
    bench.order(.send(1))
    bench.order(.send(2))
    _ = await early.values(2)
    let late = Listener()
    let second = late.subscribe(to: publisher)
    // The delivering thread delivers the value: it may be the one that has just finished the early subscriber's.
    #expect(await late.values(1) == [2])
    #expect(late.events.values == [.subscription, .value(2)])
    first.cancel()
    second.cancel()
    await bench.power.first(2)
  }

  // MARK: 4. Failure

  @Test func `a failure completes every subscriber with the typed error and powers down`() async {
    let publisher = bench.publisher()
    let listeners = [Listener(), Listener()]
    let subscriptions = listeners.map { $0.subscribe(to: publisher) }
    await bench.power.first(1)
    bench.order(.fail(.broken))
    for listener in listeners {
      #expect(await listener.events.first(2) == [.subscription, .failed(.broken)])
    }
    #expect(bench.power.values == [true, false])
    #expect(publisher.activity.value.phase == .failed)
    #expect(publisher.activity.value.reason == "broken")
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `an error of a source that was stopped does not count as a failure`() async {
    let publisher = LazyPublisher<Int, Fault>("interrupted") { (run) throws(Fault) in
      run.started()
      hold { run.stop.isSet }
      throw .broken
    }
    let subscription = Listener().subscribe(to: publisher)
    _ = await phases(of: publisher) { $0.last == .running }
    subscription.cancel()
    let phases = await phases(of: publisher) { $0.last == .idle || $0.last == .failed }
    #expect(phases.last == .idle)
  }

  @Test func `after a failure the next subscription starts a new run`() async {
    let publisher = bench.publisher()
    let unlucky = Listener()
    let failed = unlucky.subscribe(to: publisher)
    bench.order(.fail(.broken))
    await unlucky.events.first(2)
    let listener = Listener()
    let subscription = listener.subscribe(to: publisher)
    bench.order(.send(7))
    #expect(await listener.values(1) == [7])
    #expect(unlucky.values.isEmpty)
    subscription.cancel()
    failed.cancel()
    #expect(await bench.power.first(4) == [true, false, true, false])
  }

  @Test func `a source that ends by itself finishes its subscribers`() async {
    let publisher = bench.publisher()
    let listener = Listener()
    let subscription = listener.subscribe(to: publisher)
    bench.order(.end)
    #expect(await listener.events.first(2) == [.subscription, .finished])
    #expect(publisher.activity.value.phase == .idle)
    subscription.cancel()
  }

  // MARK: 5. The subscription comes first

  @Test func `the subscriber holds its subscription before the first value can arrive`() async {
    let publisher = LazyPublisher<Int, Fault>("eager") { (run) throws(Fault) in
      for value in 1...3 { run.send(value) }
      hold { run.stop.isSet }
    }
    let listener = Listener()
    let subscription = listener.subscribe(to: publisher)
    #expect(await listener.events.first(4) == [.subscription, .value(1), .value(2), .value(3)])
    subscription.cancel()
  }

  @Test func `a subscriber that cancels while receiving the subscription starts nothing`() {
    let publisher = bench.publisher()
    let subscription = publisher.subscribe(
      as: "fickle", receiveSubscription: { $0.cancel() }, receiveValue: { _ in Issue.record("a value came") })
    #expect(publisher.activity.value.phase == .idle)
    #expect(bench.power.values.isEmpty)
    subscription.cancel()
  }

  @Test func `a failure during the start arrives once, after the subscription`() async {
    let publisher = LazyPublisher<Int, Fault>("stillborn", reading: { (_) throws(Fault) in throw .broken })
    let listener = Listener()
    let subscription = listener.subscribe(to: publisher)
    #expect(await listener.events.first(2) == [.subscription, .failed(.broken)])
    subscription.cancel()
    #expect(listener.events.values.count == 2)
  }

  // MARK: 6. Handlers may do as they like

  @Test func `subscribing and cancelling from inside a value handler is safe`() async {
    let publisher = bench.publisher()
    let inner = Listener()
    let lifetime = Lifetime()
    let outer = Recorder<Int>()
    publisher.subscribe(
      as: "outer",
      receiveValue: { value in
        outer.append(value)
        if value == 1 { inner.subscribe(to: publisher).store(in: lifetime) }
        if value == 3 { lifetime.end() }
      }
    ).store(in: lifetime)
    for value in 1...3 { bench.order(.send(value)) }
    #expect(await outer.first(3) == [1, 2, 3])
    #expect(await bench.power.first(2) == [true, false])
    // The inner subscriber joined during 1 and left during 3. It does not receive 3, because the outer handler runs
    // first.
    #expect(inner.values == [2])
  }

  @Test func `subscribing again from inside a completion handler starts a new run`() async {
    let publisher = bench.publisher()
    let second = Listener()
    let lifetime = Lifetime()
    publisher.subscribe(
      as: "first", receiveValue: { _ in },
      receiveCompletion: { _ in second.subscribe(to: publisher).store(in: lifetime) }
    ).store(in: lifetime)
    bench.order(.fail(.broken))
    bench.order(.send(1))
    #expect(await second.values(1) == [1])
    lifetime.end()
    #expect(await bench.power.first(4) == [true, false, true, false])
  }

  @Test func `sending from inside a value handler keeps the order`() {
    let subject = Subject<Int, Fault>()
    let first = Listener()
    let second = Listener()
    let subscriptions = [
      first.subscribe(to: subject),
      subject.subscribe(as: "echo", receiveValue: { if $0 < 3 { subject.send($0 + 1) } }),
      second.subscribe(to: subject),
    ]
    subject.send(1)
    #expect(first.values == [1, 2, 3])
    #expect(second.values == [1, 2, 3])
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `no value arrives after cancel has returned on the delivering thread`() {
    let subject = Subject<Int, Fault>()
    let late = Listener()
    let lateSubscription = Guarded<Subscription?>(nil)
    let canceller = subject.subscribe(
      as: "canceller", receiveValue: { _ in lateSubscription.withLock { $0 }?.cancel() })
    lateSubscription.withLock { $0 = late.subscribe(to: subject) }
    subject.send(1)
    #expect(late.values.isEmpty)
    canceller.cancel()
  }

  // MARK: 7. Values belong to their run

  @Test func `values of an earlier run never reach a subscriber of a later one`() async {
    let runs = Recorder<SourceContext<Int, Fault>>()
    let publisher = LazyPublisher<Int, Fault>("leaky", replaysLatest: true) { (run) throws(Fault) in
      run.send(1)
      runs.append(run)
      hold { run.stop.isSet }
    }
    let first = Listener()
    let subscription = first.subscribe(to: publisher)
    await runs.first(1)
    subscription.cancel()
    let second = Listener()
    let again = second.subscribe(to: publisher)
    let old = await runs.first(2)[0]
    old.send(99)
    #expect(second.values == [1])
    again.cancel()
    runs.removeAll()
  }

  // MARK: 9. The leak proof (8, the cost of a value, is measured in Benchmarks)

  enum WayOut: CaseIterable { case cancel, drop, failure, end, cancelInHandler, cancelDuringIdleTimeout, taskCancelled }

  @Test(arguments: WayOut.allCases)
  func `the power line is off after every way of ending`(_ way: WayOut) async {
    let isLingering = way == .cancelDuringIdleTimeout
    let publisher = bench.publisher(LifecycleTiming(idleTimeout: isLingering ? .seconds(1) : .zero))
    let listener = Listener()
    switch way {
    case .cancel: listener.subscribe(to: publisher).cancel()
    case .drop: _ = listener.subscribe(to: publisher)
    case .failure:
      bench.order(.fail(.broken))
      let subscription = listener.subscribe(to: publisher)
      await listener.events.first(2)
      subscription.cancel()
    case .end:
      bench.order(.end)
      let subscription = listener.subscribe(to: publisher)
      await listener.events.first(2)
      subscription.cancel()
    case .cancelInHandler:
      let lifetime = Lifetime()
      publisher.subscribe(as: "once", receiveValue: { _ in lifetime.end() }).store(in: lifetime)
      bench.order(.send(1))
    case .cancelDuringIdleTimeout:
      listener.subscribe(to: publisher).cancel()
      await bench.clock.sleepers(1)
      listener.subscribe(to: publisher).cancel()
      await bench.clock.sleepers(1)
      bench.clock.advance(by: .seconds(1))
    case .taskCancelled:
      let task = Task { for try await _ in publisher.values(as: "task") {} }
      await bench.power.first(1)
      task.cancel()
      _ = await task.result
    }
    #expect(await bench.power.first(2) == [true, false])
    let phases = await phases(of: publisher) { $0.last == .idle || $0.last == .failed }
    #expect(phases.last == (way == .failure ? .failed : .idle))
  }

  // MARK: Holders

  @Test func `the publisher names its holders in the order in which they came`() async {
    let publisher = bench.publisher()
    let first = Listener().subscribe(to: publisher, as: "watch")
    let second = Listener().subscribe(to: publisher, as: "recorder")
    #expect(publisher.holders == ["watch", "recorder"])
    first.cancel()
    #expect(publisher.holders == ["recorder"])
    second.cancel()
    #expect(publisher.holders.isEmpty)
    await bench.power.first(2)
  }

  /// The phases of the publisher until they satisfy a condition.
  private func phases(
    of publisher: LazyPublisher<Int, Fault>, until isMet: @escaping @Sendable ([SourceActivity.Phase]) -> Bool
  ) async -> [SourceActivity.Phase] {
    let seen = Recorder<SourceActivity.Phase>()
    let subscription = publisher.activity.subscribe(as: "test", receiveValue: { seen.append($0.phase) })
    defer { subscription.cancel() }
    return await seen.values(where: isMet)
  }
}
