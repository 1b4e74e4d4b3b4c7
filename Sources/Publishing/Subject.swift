/// A hot publisher that anybody holding it can send to, from any thread.
///
/// All subscribers get the values one at a time and in one order. Who sends while another thread delivers leaves the
/// value to that one; after 16 such the delivering thread hands over to the next sender, and when 16 wait to be delivered
/// senders wait too. So none is kept for long by what others send, and nothing is lost. From inside a handler `send`
/// returns at once.
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
