/// A publisher without values. It finishes immediately, or never ends.
///
/// ```swift
/// guard let receiver else { return Empty() }  // a board without a receiver sends no fixes
/// ```
public struct Empty<Output: Sendable, Failure: Error>: Publisher {
  public var completesImmediately: Bool

  /// - Parameter completesImmediately: `false` for a publisher that sends neither values nor a completion
  public init(completesImmediately: Bool = true) { self.completesImmediately = completesImmediately }

  public func attach(_ subscriber: Subscriber<Output, Failure>) -> Subscription {
    LazyPublisher<Output, Failure>(deriving: subscriber.holders.label) { (run) throws(Failure) in
      if completesImmediately { run.finish(.finished) }
      return Subscription {}
    }.attach(subscriber)
  }
}
