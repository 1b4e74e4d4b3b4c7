/// A source of values over time, as Combine knows it, pushed synchronously: a value travels from the thread that read
/// it to every subscriber before that thread goes on.
public protocol Publisher<Output, Failure>: Sendable {
  associatedtype Output: Sendable
  associatedtype Failure: Error

  /// Adds a subscriber. Use `subscribe(as:receiveValue:receiveCompletion:)` or `values(buffering:)` instead.
  func attach(_ subscriber: Subscriber<Output, Failure>) -> Subscription
}

/// How a publisher ended.
public enum Completion<Failure: Error>: Sendable {
  /// There is nothing more to come.
  case finished
  case failed(Failure)
}

extension Completion: Equatable where Failure: Equatable {}

/// Who listens, and what to do with what comes.
public struct Subscriber<Output: Sendable, Failure: Error>: Sendable {
  /// For whom it subscribes.
  public var holders: Holders
  /// Called once, before anything else, on the subscribing thread.
  public var receiveSubscription: @Sendable (Subscription) -> Void
  /// Called for each value, one at a time, on the thread that sent it.
  public var receiveValue: @Sendable (Output) -> Void
  /// Called at most once; nothing follows it.
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
  /// Subscribes; the lease lasts until the returned subscription is cancelled or dropped, or until the completion.
  ///
  /// A value may arrive on another thread before this method has returned. Who must hold the subscription before the
  /// first value takes it in `receiveSubscription`.
  ///
  /// - Parameters:
  ///   - holder: who holds the lease
  ///   - receiveValue: runs on the thread that sends, so it must not block; it may subscribe, cancel and send
  public func subscribe(
    as holder: Holder, receiveSubscription: @escaping @Sendable (Subscription) -> Void = { _ in },
    receiveValue: @escaping @Sendable (Output) -> Void,
    receiveCompletion: @escaping @Sendable (Completion<Failure>) -> Void = { _ in }
  ) -> Subscription {
    subscribe(
      as: Holders(holder), receiveSubscription: receiveSubscription, receiveValue: receiveValue,
      receiveCompletion: receiveCompletion)
  }

  /// Subscribes for all for whom something derived from this one runs, as they come and leave.
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
