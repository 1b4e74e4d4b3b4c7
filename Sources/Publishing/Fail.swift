/// A publisher that fails immediately, without values.
///
/// ```swift
/// guard let bus else { return Fail(BusError.missing) }
/// ```
public struct Fail<Output: Sendable, Failure: Error>: Publisher {
  public var error: Failure

  public init(_ error: Failure) { self.error = error }

  public func attach(_ subscriber: Subscriber<Output, Failure>) -> Subscription {
    LazyPublisher<Output, Failure>(deriving: subscriber.holders.label) { (_) throws(Failure) in throw error }
      .attach(subscriber)
  }
}
