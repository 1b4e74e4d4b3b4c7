import MonotonicTime

/// A cold publisher: each subscriber gets its own publisher, which does its own work.
///
/// ```swift
/// let now = Deferred<MonotonicInstant, Never> { _ in Just(MonotonicClock().now) }  // reads the clock once per subscriber
/// ```
public struct Deferred<Output: Sendable, Failure: Error>: Publisher {
  // Stores how to attach a subscriber rather than how to make a publisher: Swift 6.2 derives a wrong type for a stored
  // closure that returns `any Publisher<Output, Failure>`, and compilers with assertions, such as Debian's, then crash.
  private let start: @Sendable (Subscriber<Output, Failure>) -> Subscription

  /// - Parameter make: makes the publisher for one subscriber; `holders` are the holders of the subscription
  public init(_ make: @escaping @Sendable (_ holders: Holders) -> any Publisher<Output, Failure>) {
    start = { make($0.holders).attach($0) }
  }

  /// - Parameter start: attaches a subscriber
  init(attaching start: @escaping @Sendable (Subscriber<Output, Failure>) -> Subscription) { self.start = start }

  public func attach(_ subscriber: Subscriber<Output, Failure>) -> Subscription { start(subscriber) }

  /// Makes a publisher that runs `activation` separately for each subscriber.
  static func deriving(_ activation: @escaping LazyPublisher<Output, Failure>.ActivationBody) -> Deferred {
    Deferred { LazyPublisher(deriving: $0.label, activating: activation) }
  }
}

extension Publisher {
  /// Publishes the results of `transform`, leaving out `nil`.
  ///
  /// ```swift
  /// let positions = fixes.compactMap { $0.position }
  /// ```
  public func compactMap<NewOutput: Sendable>(
    _ transform: @escaping @Sendable (Output) -> NewOutput?
  ) -> Deferred<NewOutput, Failure> {
    Deferred.deriving { (run) throws(Failure) in
      run.subscribe(
        to: self, receiveValue: { if let value = transform($0) { run.send(value) } },
        receiveCompletion: { run.finish($0) })
    }
  }

  /// Publishes the results of `transform`.
  ///
  /// ```swift
  /// let fahrenheit = celsius.map { $0 * 1.8 + 32 }
  /// ```
  public func map<NewOutput: Sendable>(
    _ transform: @escaping @Sendable (Output) -> NewOutput
  ) -> Deferred<NewOutput, Failure> {
    compactMap { transform($0) }
  }

  /// Shares one subscription to this publisher among all subscribers: turns a cold publisher into a hot one.
  ///
  /// ```swift
  /// let state = fused.shared(as: "state", replaysLatest: true)  // fuses once, however many clients subscribe
  /// ```
  public func shared(
    as name: String, timing: LifecycleTiming = LifecycleTiming(), replaysLatest: Bool = false,
    clock: any MonotonicTimeSource = MonotonicClock()
  ) -> LazyPublisher<Output, Failure> {
    LazyPublisher(deriving: name, timing: timing, replaysLatest: replaysLatest, clock: clock) { (run) throws(Failure) in
      run.subscribe(to: self, receiveValue: { run.send($0) }, receiveCompletion: { run.finish($0) })
    }
  }
}
