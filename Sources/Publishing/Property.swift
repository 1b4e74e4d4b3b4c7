/// A value that changes over time. It can be read directly, and as a publisher it sends the present value and then
/// each change.
///
/// ```swift
/// let phase = celsius.activity.value.phase
/// let lease = celsius.activity.subscribe(as: "page", receiveValue: { show($0) })
/// ```
public struct Property<Value: Sendable>: Publisher {
  public typealias Output = Value
  public typealias Failure = Never

  fileprivate let storage: MutableProperty<Value>

  public var value: Value { storage.value }

  public func attach(_ subscriber: Subscriber<Value, Never>) -> Subscription { storage.attach(subscriber) }
}

/// A property that its owner can set. Pass `readOnly` to other parts of the program.
///
/// ```swift
/// private let mutableIsOpen = MutableProperty(false)
/// var isOpen: Property<Bool> { mutableIsOpen.readOnly }
/// ```
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

  /// Sets the value while the caller holds a lock of its own. Never blocks. If it returns `true`, the caller must
  /// call `deliver` on the same thread after it has released the lock.
  public func stage(_ value: Value) -> Bool { broadcast.stage(value) }

  /// Delivers the staged values on this thread, or waits like a sender while another thread is delivering.
  public func deliver() { broadcast.deliver() }

  /// Returns after the handlers of all earlier values have returned, including handlers that another thread calls. Does
  /// not wait if it is called in such a handler, or if a handler waits for this thread.
  public func settle() { broadcast.settle() }
}

extension Broadcast {
  /// Adds a subscriber to a broadcast that has no source to start.
  func attach(_ subscriber: Subscriber<Output, Failure>) -> Subscription {
    let receiver = Receiver(subscriber)
    let subscription = Subscription { [weak self] in
      if receiver.cancel() { _ = self?.remove(receiver) }
    }
    subscriber.receiveSubscription(subscription)
    if !receiver.isCancelled, stage(adding: receiver) { deliver() }
    return subscription
  }
}
