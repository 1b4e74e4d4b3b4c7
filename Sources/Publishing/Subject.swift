/// A hot publisher that anybody holding it can send to.
public final class Subject<Output: Sendable, Failure: Error>: Publisher {
  private let broadcast = Broadcast<Output, Failure>(replaysLatest: false)

  public init() {}

  public func send(_ value: Output) { broadcast.send(value) }

  /// Completes the present subscribers. Later ones join a subject that is as new.
  public func finish(_ completion: Completion<Failure>) {
    if broadcast.stage(completion) { broadcast.deliver() }
  }

  public func attach(_ subscriber: Subscriber<Output, Failure>) -> Subscription { broadcast.attach(subscriber) }
}
