import MonotonicTime

/// A cold publisher: each subscriber gets its own publisher, which does its own work.
///
/// ```swift
/// let now = Deferred<MonotonicInstant, Never> { _ in Just(MonotonicClock().now) }  // reads the clock once per subscriber
/// ```
public struct Deferred<Output: Sendable, Failure: Error>: Publisher {
  // This stores how to attach a subscriber rather than how to make a publisher. Swift 6.2 derives a wrong type for a
  // stored closure that returns `any Publisher<Output, Failure>`, and compilers with assertions, such as Debian's, then
  // crash.
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

extension Sequence where Self: Sendable, Element: Sendable {
  /// Publishes the elements and finishes. Each subscriber receives all elements before its call of `subscribe` returns.
  ///
  /// An endless sequence is sent until the subscriber cancels inside a handler, or until an operator has received the
  /// values it needs: `(1...).publisher.first { $0 > 9 }`.
  public var publisher: Deferred<Element, Never> {
    Deferred.deriving { (run) throws(Never) in
      for element in self {
        if run.isOver { break }
        run.send(element)
      }
      run.finish(.finished)
      return Subscription {}
    }
  }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// Publishes the elements of the sequence and its end. Each subscriber iterates separately, in a task that lives as
  /// long as its subscription.
  ///
  /// ```swift
  /// let lease = lines.publisher.subscribe(as: "journal", receiveValue: { parse($0) })
  /// ```
  ///
  /// A sequence that can be iterated only once needs `shared(as:)`, which iterates once for all subscribers. The
  /// handlers run on the task's thread; the next element is requested after they have returned.
  public var publisher: Deferred<Element, Failure> {
    Deferred.deriving { (run) throws(Failure) in
      let task = Task {
        do throws(Failure) {
          var iterator = self.makeAsyncIterator()
          while let element = try await iterator.next(isolation: nil) { run.send(element) }
          run.finish(.finished)
        } catch {
          run.finish(.failed(error))
        }
      }
      return Subscription { task.cancel() }
    }
  }
}

extension MonotonicTimeSource {
  /// Publishes an instant after every interval since the subscription. The instant is the one at which the tick was
  /// due, so that ticks do not drift. Ticks that are overdue when the handlers of the previous tick return are skipped.
  ///
  /// ```swift
  /// let lease = MonotonicClock().ticks(every: .seconds(1)).subscribe(as: "status", receiveValue: { report(at: $0) })
  /// ```
  ///
  /// - Parameter interval: greater than zero
  public func ticks(every interval: Duration) -> Deferred<MonotonicInstant, Never> {
    let interval = interval.inNanoseconds
    precondition(interval > 0, "ticks must be some time apart")
    return Deferred.deriving { (run) throws(Never) in
      let alarm = Alarm(clock: self)
      @Sendable func wait(for due: MonotonicInstant) {
        alarm.set(at: due) {
          run.send(due)
          let passed = (now.nanoseconds - due.nanoseconds) / interval
          wait(for: MonotonicInstant(nanoseconds: due.nanoseconds + (passed + 1) * interval))
        }
      }
      wait(for: MonotonicInstant(nanoseconds: now.nanoseconds + interval))
      return Subscription { alarm.end() }
    }
  }
}
