/// No value: only the end, or not even that.
public struct Empty<Output: Sendable, Failure: Error>: Publisher {
  public var completesImmediately: Bool

  /// - Parameter completesImmediately: `false` for a publisher that never sends anything
  public init(completesImmediately: Bool = true) { self.completesImmediately = completesImmediately }

  public func attach(_ subscriber: Subscriber<Output, Failure>) -> Subscription {
    LazyPublisher<Output, Failure>(deriving: subscriber.holders.label) { (run) throws(Failure) in
      if completesImmediately { run.finish(.finished) }
      return Subscription {}
    }.attach(subscriber)
  }
}
