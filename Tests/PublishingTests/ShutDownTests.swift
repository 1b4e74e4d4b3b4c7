import Guarding
import MonotonicTime
import Publishing
import TestSupport
import Testing

/// Shutting down a lazy publisher finishes its subscribers, whatever its state.
@Suite(.timeLimit(.minutes(10)))
struct ShutDownTests {
  let bench = Bench()
  let listener = Listener()

  /// Expects a later subscriber to finish immediately, without starting the source.
  private func expectOver(_ publisher: LazyPublisher<Int, Fault>, afterRuns runs: Int) {
    let late = Listener()
    let subscription = late.subscribe(to: publisher)
    #expect(late.events.values == [.subscription, .finished])
    bench.clock.advance(by: .seconds(3600))
    #expect(bench.power.values == Array(repeating: [true, false], count: runs).flatMap(\.self))
    #expect(publisher.holders.isEmpty)
    subscription.cancel()
  }

  @Test func `idle, only later subscribers are finished`() {
    let publisher = bench.publisher()
    publisher.shutDown()
    publisher.shutDown()
    expectOver(publisher, afterRuns: 0)
    #expect(publisher.activity.value.phase == .idle)
  }

  @Test func `resting, a subscriber that waits for the source to start is finished`() async {
    let publisher = bench.publisher(LifecycleTiming(minimumOff: .seconds(3)))
    Listener().subscribe(to: publisher).cancel()
    await bench.power.first(2)
    #expect(publisher.activity.waits { $0.phase == .idle })
    let subscription = listener.subscribe(to: publisher)
    await bench.clock.sleepers(1)
    publisher.shutDown()
    #expect(listener.events.values == [.subscription, .finished])
    #expect(publisher.activity.value.phase == .idle)
    expectOver(publisher, afterRuns: 1)
    subscription.cancel()
  }

  @Test func `starting, the source leaves its scope first`() async {
    let power = Recorder<Bool>()
    let mayLeave = Recorder<Bool>()
    let publisher = LazyPublisher<Int, Fault>("slow to start") { context in
      power.append(true)
      hold { context.stop.isSet }
      hold { !mayLeave.values.isEmpty }
      power.append(false)
    }
    let subscription = listener.subscribe(to: publisher)
    await power.first(1)
    #expect(publisher.activity.value.phase == .starting)
    publisher.shutDown()
    #expect(listener.events.values == [.subscription])
    mayLeave.append(true)
    #expect(await listener.events.first(2) == [.subscription, .finished])
    #expect(power.values == [true, false])
    subscription.cancel()
  }

  @Test func `running, the source leaves its scope first`() async {
    let publisher = bench.publisher()
    let subscription = listener.subscribe(to: publisher)
    bench.order(.send(1))
    _ = await listener.values(1)
    publisher.shutDown()
    #expect(await listener.events.first(3) == [.subscription, .value(1), .finished])
    #expect(bench.power.values == [true, false])
    expectOver(publisher, afterRuns: 1)
    subscription.cancel()
  }

  @Test func `an error of a source that was shut down is no failure of it`() async {
    let publisher = LazyPublisher<Int, Fault>("interrupted") { (context) throws(Fault) in
      context.started()
      hold { context.stop.isSet }
      throw .broken
    }
    let subscription = listener.subscribe(to: publisher)
    #expect(publisher.activity.waits { $0.phase == .running })
    publisher.shutDown()
    #expect(await listener.events.first(2) == [.subscription, .finished])
    #expect(publisher.activity.value.phase == .idle)
    subscription.cancel()
  }

  @Test func `in its idle timeout, the source does not wait for the rest of its time`() async {
    let publisher = bench.publisher(LifecycleTiming(idleTimeout: .seconds(5)))
    listener.subscribe(to: publisher).cancel()
    await bench.clock.sleepers(1)
    publisher.shutDown()
    await bench.power.first(2)
    #expect(publisher.activity.waits { $0.phase == .idle })
    expectOver(publisher, afterRuns: 1)
    #expect(listener.events.values == [.subscription])
  }

  @Test func `stopping, a subscriber that waits for the next run is finished once this one has left its scope`() async {
    let power = Recorder<Bool>()
    let mayLeave = Recorder<Bool>()
    let publisher = LazyPublisher<Int, Fault>("slow to stop") { context in
      power.append(true)
      hold { !mayLeave.values.isEmpty }
      power.append(false)
    }
    Listener().subscribe(to: publisher).cancel()
    await power.first(1)
    let subscription = listener.subscribe(to: publisher)
    #expect(publisher.activity.value.phase == .stopping)
    publisher.shutDown()
    #expect(listener.events.values == [.subscription])
    mayLeave.append(true)
    #expect(await listener.events.first(2) == [.subscription, .finished])
    #expect(power.values == [true, false])
    subscription.cancel()
  }

  @Test func `failed, no subscriber is finished twice`() async {
    let publisher = bench.publisher()
    bench.order(.fail(.broken))
    let subscription = listener.subscribe(to: publisher)
    await listener.events.first(2)
    publisher.shutDown()
    #expect(listener.events.values == [.subscription, .failed(.broken)])
    expectOver(publisher, afterRuns: 1)
    subscription.cancel()
  }

  @Test func `derived, what it holds is let go of before its subscribers are finished`() {
    let source = Subject<Int, Fault>()
    let trace = Recorder<String>()
    let publisher = LazyPublisher<Int, Fault>(deriving: "derived") { run in
      let upstream = source.subscribe(as: "derived", receiveValue: { run.send($0) })
      return Subscription {
        upstream.cancel()
        trace.append("let go")
      }
    }
    let subscription = publisher.subscribe(
      as: "test", receiveValue: { trace.append("\($0)") }, receiveCompletion: { trace.append("\($0)") })
    source.send(1)
    publisher.shutDown()
    source.send(2)
    #expect(trace.values == ["1", "let go", "finished"])
    subscription.cancel()
  }

  @Test func `derived, shut down by what it sends while it starts, it is let go of too`() {
    let trace = Recorder<String>()
    let lifetime = Lifetime()
    let publisher = LazyPublisher<Int, Fault>(deriving: "eager") { run in
      run.send(1)
      run.send(2)
      return Subscription { trace.append("let go") }
    }
    publisher.subscribe(
      as: "test",
      receiveValue: { [weak publisher] value in
        trace.append("\(value)")
        publisher?.shutDown()
      }, receiveCompletion: { trace.append("\($0)") }
    ).store(in: lifetime)
    #expect(trace.values == ["1", "let go", "finished"])
    lifetime.end()
  }
}
