import Synchronization

/// A source of values over time, as in Combine, but synchronous: a thread that sends a value delivers it to every
/// subscriber before it continues. Only if another thread is already delivering may that thread deliver the value.
public protocol Publisher<Output, Failure>: Sendable {
  associatedtype Output: Sendable
  associatedtype Failure: Error

  /// Adds a subscriber. Use `subscribe(as:receiveValue:receiveCompletion:)` or `values(as:buffering:)` instead.
  func attach(_ subscriber: Subscriber<Output, Failure>) -> Subscription
}

/// How a publisher ended.
public enum Completion<Failure: Error>: Sendable {
  /// No more values follow.
  case finished
  case failed(Failure)
}

extension Completion: Equatable where Failure: Equatable {}

/// The handlers of one subscriber, and the holders it subscribes for.
public struct Subscriber<Output: Sendable, Failure: Error>: Sendable {
  /// The holders that the subscription is made for.
  public var holders: Holders
  /// Called once, before the other handlers, on the subscribing thread.
  public var receiveSubscription: @Sendable (Subscription) -> Void
  /// Called for each value, one at a time, on the thread that sent it or on another sending thread.
  public var receiveValue: @Sendable (Output) -> Void
  /// Called at most once. No handler is called after it.
  public var receiveCompletion: @Sendable (Completion<Failure>) -> Void

  public init(
    holders: Holders, receiveSubscription: @escaping @Sendable (Subscription) -> Void = { _ in },
    receiveValue: @escaping @Sendable (Output) -> Void,
    receiveCompletion: @escaping @Sendable (Completion<Failure>) -> Void = { _ in }
  ) {
    self.holders = holders
    self.receiveSubscription = receiveSubscription
    self.receiveValue = receiveValue
    self.receiveCompletion = receiveCompletion
  }
}

extension Publisher {
  /// Subscribes. The lease lasts until the returned subscription is cancelled or released, or until the completion.
  ///
  /// A value may arrive on another thread before this method returns. If a handler needs the subscription, store it
  /// in `receiveSubscription`, which is called before the first value.
  ///
  /// ```swift
  /// let lease = celsius.subscribe(as: "journal", receiveValue: { log($0) }, receiveCompletion: { log("ended: \($0)") })
  /// ```
  ///
  /// - Parameters:
  ///   - holder: the holder of the lease
  ///   - receiveValue: runs on a sending thread, so it must not block; it may subscribe, cancel and send
  public func subscribe(
    as holder: Holder, receiveSubscription: @escaping @Sendable (Subscription) -> Void = { _ in },
    receiveValue: @escaping @Sendable (Output) -> Void,
    receiveCompletion: @escaping @Sendable (Completion<Failure>) -> Void = { _ in }
  ) -> Subscription {
    subscribe(
      as: Holders(holder), receiveSubscription: receiveSubscription, receiveValue: receiveValue,
      receiveCompletion: receiveCompletion)
  }

  /// Subscribes on behalf of the current and future holders of a derived publisher.
  ///
  /// - Parameter holders: `run.holders` in an activation
  public func subscribe(
    as holders: Holders, receiveSubscription: @escaping @Sendable (Subscription) -> Void = { _ in },
    receiveValue: @escaping @Sendable (Output) -> Void,
    receiveCompletion: @escaping @Sendable (Completion<Failure>) -> Void = { _ in }
  ) -> Subscription {
    attach(
      Subscriber(
        holders: holders, receiveSubscription: receiveSubscription, receiveValue: receiveValue,
        receiveCompletion: receiveCompletion))
  }
}

/// The registration of one subscriber in a broadcast.
final class Receiver<Output: Sendable, Failure: Error>: Sendable {
  let holders: Holders
  private let receiveValue: @Sendable (Output) -> Void
  private let receiveCompletion: @Sendable (Completion<Failure>) -> Void
  private let isOver = Atomic(false)

  init(_ subscriber: Subscriber<Output, Failure>) {
    holders = subscriber.holders
    receiveValue = subscriber.receiveValue
    receiveCompletion = subscriber.receiveCompletion
  }

  var isCancelled: Bool { isOver.load(ordering: .acquiring) }

  /// Stops delivery. Returns whether the receiver was still active.
  func cancel() -> Bool { !isOver.exchange(true, ordering: .acquiringAndReleasing) }

  func receive(_ value: Output) {
    if !isCancelled { receiveValue(value) }
  }

  func complete(_ completion: Completion<Failure>) {
    if cancel() { receiveCompletion(completion) }
  }
}

extension Publisher {
  /// Publishes the first value, finishes, and ends the upstream lease. Finishes without a value if upstream does.
  ///
  /// ```swift
  /// let lease = receiver.fixes.first().subscribe(as: "greeting", receiveValue: { show($0) })
  /// ```
  public func first() -> Deferred<Output, Failure> { first { _ in true } }

  /// Publishes the first value that satisfies `isMet`, and finishes.
  ///
  /// ```swift
  /// let accurate = receiver.fixes.first { $0.horizontalErrorMetres < 5 }
  /// ```
  public func first(where isMet: @escaping @Sendable (Output) -> Bool) -> Deferred<Output, Failure> {
    Deferred.deriving { (run) throws(Failure) in
      let isFound = Atomic(false)
      return run.subscribe(
        to: self,
        receiveValue: { value in
          guard !isFound.load(ordering: .relaxed), isMet(value) else { return }
          // Values arrive one at a time. Another one can arrive only until the upstream lease has ended.
          isFound.store(true, ordering: .relaxed)
          run.send(value)
          run.finish(.finished)
        }, receiveCompletion: { run.finish($0) })
    }
  }
}
