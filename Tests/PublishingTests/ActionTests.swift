import Guarding
import Publishing
import Synchronization
import TestSupport
import Testing

/// `Action.isExecuting` is correct at the instant at which it is read.
@Suite(.timeLimit(.minutes(10)))
struct ActionTests {
  let source = Subject<Int, Fault>()
  let trace = Recorder<String>()

  private func start(
    _ action: Action<Int, Int, Fault>, _ name: String = "job", _ atValue: @escaping @Sendable (Int) -> Void = { _ in }
  ) -> Subscription {
    action.apply(1).subscribe(
      as: Holder(name),
      receiveValue: { [trace] value in
        trace.append("\(name): \(value), \(action.isExecuting.value)")
        atValue(value)
      },
      receiveCompletion: { [trace] completion in
        let end =
          switch completion {
          case .finished: "finished"
          case .failed(.disabled): "disabled"
          case .failed(.failed(let fault)): "\(fault)"
          }
        trace.append("\(name): \(end), \(action.isExecuting.value)")
      })
  }

  @Test func `an action is executing from before its work begins until before its completion arrives`() {
    let begun = Recorder<Bool>()
    let itself = Guarded<Action<Int, Int, Fault>?>(nil)
    let action = Action<Int, Int, Fault> { [source] _ in
      begun.append(itself.withLock { $0 }?.isExecuting.value ?? false)
      return source
    }
    itself.withLock { $0 = action }
    let subscription = start(action)
    #expect(begun.values == [true])
    source.send(5)
    source.finish(.finished)
    #expect(trace.values == ["job: 5, true", "job: finished, false"])
    itself.withLock { $0 = nil }
    subscription.cancel()
  }

  @Test func `work that finishes while it is being started leaves the action free`() {
    let action = Action<Int, Int, Fault> { _ in
      LazyPublisher<Int, Fault>(deriving: "at once") { run in
        run.send(5)
        run.finish(.finished)
        return Subscription {}
      }
    }
    let changes = Recorder<Bool>()
    let watching = action.isExecuting.subscribe(as: "test", receiveValue: { changes.append($0) })
    let subscriptions = [start(action, "first"), start(action, "second")]
    #expect(
      trace.values == [
        "first: 5, true", "first: finished, false", "second: 5, true", "second: finished, false",
      ])
    #expect(changes.values == [false, true, false, true, false])
    for subscription in subscriptions + [watching] { subscription.cancel() }
  }

  @Test func `work that fails at once leaves the action free`() {
    let action = Action<Int, Int, Fault> { _ in Fail(.broken) }
    let subscriptions = [start(action, "first"), start(action, "second")]
    #expect(trace.values == ["first: broken, false", "second: broken, false"])
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `an action cancelled from inside a handler is free once the handler has returned`() {
    let action = Action<Int, Int, Fault> { [source] _ in source }
    let lifetime = Lifetime()
    start(action) { [trace] _ in
      lifetime.end()
      trace.append("cancelled, \(action.isExecuting.value)")
    }.store(in: lifetime)
    source.send(5)
    #expect(trace.values == ["job: 5, true", "cancelled, false"])
    source.send(6)
    source.finish(.finished)
    #expect(trace.values.count == 2)
  }

  @Test func `an action that is cancelled by a value sent during its start is free afterwards`() {
    let action = Action<Int, Int, Never> { _ in (1...).publisher }
    let held = Guarded<Subscription?>(nil)
    let seen = Recorder<Int>()
    let subscription = action.apply(1).subscribe(
      as: "test", receiveSubscription: { subscription in held.withLock { $0 = subscription } },
      receiveValue: { value in
        seen.append(value)
        if value == 3 { held.withLock { $0 }?.cancel() }
      })
    #expect(seen.values == [1, 2, 3])
    #expect(!action.isExecuting.value)
    held.withLock { $0 = nil }
    subscription.cancel()
  }

  @Test func `an action can be applied again from inside the completion handler`() {
    let action = Action<Int, Int, Fault> { [source] _ in source }
    let lifetime = Lifetime()
    let again = Listener()
    action.apply(1).subscribe(
      as: "first", receiveValue: { _ in },
      receiveCompletion: { [trace] _ in
        trace.append("\(action.isExecuting.value)")
        action.apply(2).subscribe(
          as: "again", receiveValue: { again.events.append(.value($0)) },
          receiveCompletion: { trace.append("\($0)") }
        ).store(in: lifetime)
        trace.append("\(action.isExecuting.value)")
      }
    ).store(in: lifetime)
    source.finish(.failed(.broken))
    #expect(trace.values == ["false", "true"])
    source.send(7)
    #expect(again.values == [7])
    lifetime.end()
    #expect(!action.isExecuting.value)
  }

  @Test func `a refused caller sees that the action is executing, whatever other threads do`() async {
    let seed = Seed()
    // The job of each thread is running between these two lines.
    let underWay = Atomic(0)
    let most = Atomic(0)
    let wrong = Atomic(0)
    let action = Action<Int, Int, Never> { _ in Empty(completesImmediately: false) }
    let done = Recorder<Int>()
    for thread in 0..<4 {
      let error = DetachedThread.start("applying \(thread)") {
        var random = seed.random(thread)
        for _ in 0..<20_000 {
          let isRefused = Atomic(false)
          let subscription = action.apply(thread).subscribe(
            as: "thread \(thread)", receiveValue: { _ in },
            receiveCompletion: { _ in isRefused.store(true, ordering: .relaxed) })
          if !isRefused.load(ordering: .relaxed) {
            _ = most.max(underWay.wrappingAdd(1, ordering: .relaxed).newValue, ordering: .relaxed)
            // The job of this thread is running, so no other one can begin.
            for _ in 0..<random.next() % 4 where !action.isExecuting.value {
              wrong.wrappingAdd(1, ordering: .relaxed)
            }
            underWay.wrappingSubtract(1, ordering: .relaxed)
          }
          subscription.cancel()
        }
        done.append(thread)
      }
      #expect(error == 0)
    }
    await done.first(4)
    #expect(most.load(ordering: .relaxed) == 1, "\(seed): two jobs at once")
    #expect(wrong.load(ordering: .relaxed) == 0, "\(seed): it said that nothing was under way")
    #expect(!action.isExecuting.value, "\(seed): it says that something is under way")
  }
}
