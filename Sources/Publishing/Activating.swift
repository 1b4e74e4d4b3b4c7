/// What an activation is given: where to send, and how to end.
public struct Activating<Output: Sendable, Failure: Error>: Sendable {
  let publisher: LazyPublisher<Output, Failure>
  let run: SourceRun

  /// Whether it has ended: nobody gets what is sent from here on. For what sends without end before it returns.
  public var isOver: Bool { run.isOver }

  /// Hands a value to the subscribers, on this thread or on one that is delivering already. Waits where more is sent, from
  /// several threads, than can be delivered.
  public func send(_ value: Output) { publisher.send(value, run) }

  /// Ends the run: drops what it holds, then completes every subscriber. What is sent after it goes nowhere.
  public func finish(_ completion: Completion<Failure>) { publisher.finish(run, completion) }

  /// Queues a value from under a lock of the caller's, so that the order of the values is that of the lock; never waits.
  /// Returns whether `deliver` must follow on this thread once the lock is free.
  public func stage(_ value: Output) -> Bool { publisher.stage(value, run) }

  /// Delivers what was staged, on this thread; or waits like `send` where another one is delivering.
  public func deliver() { publisher.deliver() }

  /// Those for whom it runs: for whom an activation subscribes to what the values are derived from.
  public var holders: Holders { publisher.forwardedHolders }

  /// Subscribes to what the values are derived from, for those who subscribe to these. This lease ends with the run even before
  /// the activation has returned it: what is subscribed to may send everything that it has at once, and without end.
  public func subscribe<UpstreamOutput, UpstreamFailure>(
    to upstream: some Publisher<UpstreamOutput, UpstreamFailure>,
    receiveValue: @escaping @Sendable (UpstreamOutput) -> Void,
    receiveCompletion: @escaping @Sendable (Completion<UpstreamFailure>) -> Void = { _ in }
  ) -> Subscription {
    upstream.subscribe(
      as: holders, receiveSubscription: { [run] in if run.holdUntilActivated($0) { $0.cancel() } },
      receiveValue: receiveValue, receiveCompletion: receiveCompletion)
  }
}
