import MonotonicTime

/// A cold publisher: every subscriber gets a publisher, and work, of its own.
public struct Deferred<Output: Sendable, Failure: Error>: Publisher {
  // What it makes is kept as what is done with it: Swift 6.2 mistakes the type of a stored closure that returns
  // `any Publisher<Output, Failure>`, and a compiler with checks, such as Debian's, then gives up.
  private let start: @Sendable (Subscriber<Output, Failure>) -> Subscription

  /// - Parameter make: called for each subscriber, with those for whom it subscribes
  public init(_ make: @escaping @Sendable (_ holders: Holders) -> any Publisher<Output, Failure>) {
    start = { make($0.holders).attach($0) }
  }

  /// - Parameter start: attaches each subscriber
  init(attaching start: @escaping @Sendable (Subscriber<Output, Failure>) -> Subscription) { self.start = start }

  public func attach(_ subscriber: Subscriber<Output, Failure>) -> Subscription { start(subscriber) }

  /// Does the work of `activation` anew for each subscriber.
  static func deriving(_ activation: @escaping LazyPublisher<Output, Failure>.Activation) -> Deferred {
    Deferred { LazyPublisher(deriving: $0.label, activating: activation) }
  }
}

extension Publisher {
  /// The values that `transform` makes of these; those of which it makes `nil` are left out.
  public func compactMap<NewOutput: Sendable>(
    _ transform: @escaping @Sendable (Output) -> NewOutput?
  ) -> Deferred<NewOutput, Failure> {
    Deferred.deriving { (run) throws(Failure) in
      run.subscribe(
        to: self, receiveValue: { if let value = transform($0) { run.send(value) } },
        receiveCompletion: { run.finish($0) })
    }
  }

  /// The values that `transform` makes of these.
  public func map<NewOutput: Sendable>(
    _ transform: @escaping @Sendable (Output) -> NewOutput
  ) -> Deferred<NewOutput, Failure> {
    compactMap { transform($0) }
  }

  /// One subscription to this publisher for however many subscribers: cold becomes hot.
  public func shared(
    as name: String, timing: LifecycleTiming = LifecycleTiming(), replaysLatest: Bool = false,
    clock: any MonotonicTimeSource = MonotonicClock()
  ) -> LazyPublisher<Output, Failure> {
    LazyPublisher(deriving: name, timing: timing, replaysLatest: replaysLatest, clock: clock) { (run) throws(Failure) in
      run.subscribe(to: self, receiveValue: { run.send($0) }, receiveCompletion: { run.finish($0) })
    }
  }
}
