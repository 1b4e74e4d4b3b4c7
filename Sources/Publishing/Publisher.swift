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
  /// Names the subscriber where leases are listed: `gpsd 127.0.0.1:51512`.
  public var name: String
  /// Called once, before anything else, on the subscribing thread.
  public var receiveSubscription: @Sendable (Subscription) -> Void
  /// Called for each value, one at a time, on the thread that sent it.
  public var receiveValue: @Sendable (Output) -> Void
  /// Called at most once; nothing follows it.
  public var receiveCompletion: @Sendable (Completion<Failure>) -> Void

  public init(
    name: String, receiveSubscription: @escaping @Sendable (Subscription) -> Void = { _ in },
    receiveValue: @escaping @Sendable (Output) -> Void,
    receiveCompletion: @escaping @Sendable (Completion<Failure>) -> Void = { _ in }
  ) {
    self.name = name
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
  ///   - name: who holds the lease, as people will read it
  ///   - receiveValue: runs on the thread that sends, so it must not block; it may subscribe, cancel and send
  public func subscribe(
    as name: String, receiveSubscription: @escaping @Sendable (Subscription) -> Void = { _ in },
    receiveValue: @escaping @Sendable (Output) -> Void,
    receiveCompletion: @escaping @Sendable (Completion<Failure>) -> Void = { _ in }
  ) -> Subscription {
    attach(
      Subscriber(
        name: name, receiveSubscription: receiveSubscription, receiveValue: receiveValue,
        receiveCompletion: receiveCompletion))
  }
}
