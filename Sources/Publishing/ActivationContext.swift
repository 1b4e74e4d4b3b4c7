/// The methods that a `LazyPublisher` gives an activation to subscribe upstream, to send values and to end the run.
public struct ActivationContext<Output: Sendable, Failure: Error>: Sendable {
  let publisher: LazyPublisher<Output, Failure>
  let run: RunState

  /// Whether the run has ended. Values sent after that are dropped.
  ///
  /// An activation that sends an endless series of values before it returns must check this.
  public var isOver: Bool { run.isOver }

  /// Delivers a value to the subscribers, on this thread or on another thread that is already delivering.
  /// The call blocks if several threads send faster than the handlers take the values.
  public func send(_ value: Output) { publisher.send(value, run) }

  /// Ends the run: cancels the upstream subscriptions, then completes every subscriber. Values sent afterwards
  /// are dropped.
  public func finish(_ completion: Completion<Failure>) { publisher.finish(run, completion) }

  /// Queues a value while the caller holds a lock of its own, so that values keep the order in which the lock was
  /// taken. Never blocks. If it returns `true`, the caller must call `deliver` on the same thread after it has released
  /// the lock.
  public func stage(_ value: Output) -> Bool { publisher.stage(value, run) }

  /// Delivers the staged values on this thread, or waits like `send` while another thread is delivering.
  public func deliver() { publisher.deliver() }

  /// The holders of this publisher. An activation passes them on when it subscribes upstream.
  public var holders: Holders { publisher.forwardedHolders }

  /// Subscribes to an upstream publisher on behalf of this publisher's subscribers.
  /// The subscription ends with the run, even if the activation has not returned yet. That matters if upstream sends
  /// an endless series of values while it is being subscribed to.
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
