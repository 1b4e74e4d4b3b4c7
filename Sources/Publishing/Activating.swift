/// What an activation is given: where to send, and how to end.
public struct Activating<Output: Sendable, Failure: Error>: Sendable {
  let publisher: LazyPublisher<Output, Failure>
  let run: SourceRun

  /// Hands a value to the subscribers, on this thread.
  public func send(_ value: Output) { publisher.send(value, run) }

  /// Ends the run: drops what it holds, then completes every subscriber.
  public func finish(_ completion: Completion<Failure>) { publisher.finish(run, completion) }

  /// Queues a value from under a lock of the caller's, so that the order of the values is that of the lock; returns
  /// whether `deliver` must follow once the lock is free.
  public func stage(_ value: Output) -> Bool { publisher.stage(value, run) }

  /// Delivers what was staged, on this thread.
  public func deliver() { publisher.deliver() }
}
