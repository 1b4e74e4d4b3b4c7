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

  @Test func `after a shutdown while idle, only later subscribers are finished`() {
    let publisher = bench.publisher()
    publisher.shutDown()
    publisher.shutDown()
    expectOver(publisher, afterRuns: 0)
    #expect(publisher.activity.value.phase == .idle)
  }

  @Test func `a shutdown during the minimum time off finishes a subscriber that waits for the start`() async {
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

  @Test func `after a shutdown during the start, the source leaves its scope before subscribers are finished`() async {
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

  @Test func `after a shutdown while running, the source leaves its scope before subscribers are finished`() async {
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

  @Test func `an error of a source that was shut down does not count as a failure`() async {
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

  @Test func `a shutdown during the idle timeout ends it at once`() async {
    let publisher = bench.publisher(LifecycleTiming(idleTimeout: .seconds(5)))
    listener.subscribe(to: publisher).cancel()
    await bench.clock.sleepers(1)
    publisher.shutDown()
    await bench.power.first(2)
    #expect(publisher.activity.waits { $0.phase == .idle })
    expectOver(publisher, afterRuns: 1)
    #expect(listener.events.values == [.subscription])
  }

  @Test func `a shutdown during the stop finishes a waiting subscriber once the run has left its scope`() async {
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

  @Test func `a shutdown does not take an interrupted run for over until it has left its scope`() async throws {
    let contexts = Recorder<SourceContext<Int, Fault>>()
    let mayLeave = Recorder<Bool>()
    let publisher = LazyPublisher<Int, Fault>("interrupted and slow to stop") { context in
      context.started()
      contexts.append(context)
      hold { !mayLeave.values.isEmpty }
    }
    let subscription = listener.subscribe(to: publisher)
    let context = try #require(await contexts.first(1).first)
    context.interrupts(.broken)
    #expect(publisher.activity.value.phase == .failed && !publisher.activity.value.isOver)
    publisher.shutDown()
    #expect(publisher.activity.value.phase == .stopping)
    #expect(listener.events.values == [.subscription])
    mayLeave.append(true)
    #expect(await listener.events.first(2) == [.subscription, .finished])
    #expect(publisher.activity.value.phase == .idle && publisher.activity.value.isOver)
    subscription.cancel()
    // The context keeps the publisher, which keeps the recorder.
    contexts.removeAll()
  }

  @Test func `a shutdown after a failure finishes no subscriber twice`() async {
    let publisher = bench.publisher()
    bench.order(.fail(.broken))
    let subscription = listener.subscribe(to: publisher)
    await listener.events.first(2)
    publisher.shutDown()
    #expect(listener.events.values == [.subscription, .failed(.broken)])
    expectOver(publisher, afterRuns: 1)
    subscription.cancel()
  }

  @Test func `a shutdown of a derived publisher releases its upstream before its subscribers are finished`() {
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

  @Test func `a derived publisher that is shut down by a value sent during its start releases its upstream too`() {
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
