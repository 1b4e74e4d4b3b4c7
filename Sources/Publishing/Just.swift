/// A publisher that sends one value and finishes.
///
/// ```swift
/// let rate: any Publisher<Int, Never> = Just(100)
/// ```
public struct Just<Output: Sendable>: Publisher {
  public typealias Failure = Never

  public var value: Output

  public init(_ value: Output) { self.value = value }

  public func attach(_ subscriber: Subscriber<Output, Never>) -> Subscription {
    CollectionOfOne(value).publisher.attach(subscriber)
  }
}
