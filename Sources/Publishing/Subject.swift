/// A hot publisher that any thread can send to.
///
/// ```swift
/// let presses = Subject<Button, Never>()
/// let lease = presses.subscribe(as: "menu", receiveValue: { open($0) })
/// presses.send(.ok)
/// ```
///
/// All subscribers receive the values one at a time and in the same order. A thread that sends while another one
/// delivers leaves its value to the delivering thread. After 16 such values the delivering thread hands over to the
/// next sender, and once 16 values are queued, senders wait. So no sender is held up for long by the values of other
/// senders, and no value is lost. Inside a handler, `send` returns immediately.
public final class Subject<Output: Sendable, Failure: Error>: Publisher {
  private let broadcast = Broadcast<Output, Failure>(replaysLatest: false)

  public init() {}

  /// Whether there are subscribers, so that a sender can save the work of making a value for none.
  public var hasSubscribers: Bool { broadcast.hasReceivers }

  public func send(_ value: Output) { broadcast.send(value) }

  /// Completes the present subscribers. Subscribers that join later start as with a new subject.
  public func finish(_ completion: Completion<Failure>) {
    if broadcast.stage(completion) { broadcast.deliver() }
  }

  public func attach(_ subscriber: Subscriber<Output, Failure>) -> Subscription { broadcast.attach(subscriber) }
}
