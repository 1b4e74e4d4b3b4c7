/// A value that changes over time: readable at once, and a publisher of its changes that starts with the present value.
public struct Property<Value: Sendable>: Publisher {
  public typealias Output = Value
  public typealias Failure = Never

  fileprivate let storage: MutableProperty<Value>

  public var value: Value { storage.value }

  public func attach(_ subscriber: Subscriber<Value, Never>) -> Subscription { storage.attach(subscriber) }
}

/// A property as its owner sees it. Others get `readOnly`.
public final class MutableProperty<Value: Sendable>: Publisher {
  public typealias Output = Value
  public typealias Failure = Never

  private let broadcast: Broadcast<Value, Never>
  private let initial: Value

  public init(_ value: Value) {
    initial = value
    broadcast = Broadcast(replaysLatest: true, initial: value)
  }

  public var readOnly: Property<Value> { Property(storage: self) }

  public var value: Value {
    get { broadcast.latest ?? initial }
    set { broadcast.send(newValue) }
  }

  public func attach(_ subscriber: Subscriber<Value, Never>) -> Subscription { broadcast.attach(subscriber) }

  /// Sets the value from under a lock of the caller's; never waits. Returns whether `deliver` must follow on this thread
  /// once the lock is free.
  public func stage(_ value: Value) -> Bool { broadcast.stage(value) }

  /// Delivers what was staged, on this thread; or waits like a sender where another one is delivering.
  public func deliver() { broadcast.deliver() }
}

extension Broadcast {
  /// Adds a subscriber to a broadcast that has no source to start.
  ///
  /// - Parameter last: whether it gets each value after all who are not added so, whenever they come
  func attach(_ subscriber: Subscriber<Output, Failure>, last: Bool = false) -> Subscription {
    let receiver = Receiver(subscriber, comesLast: last)
    let subscription = Subscription { [weak self] in
      if receiver.cancel() { _ = self?.remove(receiver) }
    }
    subscriber.receiveSubscription(subscription)
    if !receiver.isCancelled, stage(adding: receiver) { deliver() }
    return subscription
  }
}
