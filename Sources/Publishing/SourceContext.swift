import Guarding

/// The methods that a `LazyPublisher` gives the body of a source to send values and to report its state, and the signal
/// to stop.
public struct SourceContext<Output: Sendable, Failure: Error>: Sendable {
  let publisher: LazyPublisher<Output, Failure>
  let run: RunState

  /// Set when the body must return, normally because the idle timeout after the last subscriber has passed.
  public let stop: StopSignal

  /// Delivers a value to the subscribers on this thread. If the body sends from several threads, another of them may
  /// deliver the value.
  public func send(_ value: Output) { publisher.send(value, run) }

  /// Reports that the device's supply has just been switched on. The minimum time on counts from here.
  public func switchedOn() { publisher.switchedOn(run) }

  /// Reports, from another thread, that the body hangs. The source counts as failed and is told to stop. It can start
  /// again once the body has returned.
  public func hangs(_ failure: Failure) { publisher.hangs(run, failure) }

  /// Reports, from another thread, that the run must begin again because its readings are out of date, for example
  /// after the machine was suspended. The run is told to stop. If the source has subscribers, they receive the failure.
  public func interrupts(_ failure: Failure) { publisher.interrupts(run, failure) }

  /// Reports that the source is up. Call it if the source is up some time before it has a value to send.
  public func started() { if run.isFirstSignOfLife { publisher.showedLife(run) } }
}

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

  /// Forgets the latest value, so that later subscribers do not get it. Call this when the value describes the present
  /// no longer, but the run goes on.
  public func forgetLatest() { publisher.forgetLatest(run) }

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
