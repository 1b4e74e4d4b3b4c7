import Guarding
import MonotonicTime

/// A lease on the resources that a publisher needs to run. It ends when it is cancelled or released, or when the
/// publisher completes.
public final class Subscription: Sendable {
  private let onCancel: Guarded<Callback?>

  public init(_ onCancel: @escaping @Sendable () -> Void) { self.onCancel = Guarded(Callback(onCancel)) }

  /// Ends the lease. If called on the delivering thread, no further value arrives after it returns. If called on
  /// another thread, at most the value being delivered still arrives.
  public func cancel() {
    let action = onCancel.withLock { action in
      defer { action = nil }
      return action
    }
    action?()
  }

  /// Keeps the subscription until the lifetime ends.
  public func store(in lifetime: Lifetime) { lifetime.hold(self) }

  deinit { cancel() }
}

/// A set of subscriptions that end together with their owner.
///
/// ```swift
/// let lifetime = Lifetime()
/// celsius.subscribe(as: "page", receiveValue: { show($0) }).store(in: lifetime)
/// lifetime.end()
/// ```
public final class Lifetime: Sendable {
  private let subscriptions = Guarded<[Subscription]?>([])

  public init() {}

  /// Holds a subscription until the lifetime ends. Cancels it immediately if the lifetime has already ended.
  public func hold(_ subscription: Subscription) {
    let isOver = subscriptions.withLock { held in
      held?.append(subscription)
      return held == nil
    }
    if isOver { subscription.cancel() }
  }

  /// Ends all subscriptions, and every subscription that is stored later.
  public func end() {
    let held = subscriptions.withLock { held in
      defer { held = nil }
      return held
    }
    for subscription in held ?? [] { subscription.cancel() }
  }

  deinit { end() }
}

extension SuspendObservation {
  /// Keeps the observation until the lifetime ends.
  public func store(in lifetime: Lifetime) { lifetime.hold(Subscription { [self] in end() }) }
}

extension Publisher {
  /// Publishes the same values, and keeps `other` running for as long as a client subscribes. The values of `other`
  /// are ignored.
  ///
  /// ```swift
  /// let fixes = receiver.fixes.withLease(on: antennaSupply)
  /// ```
  ///
  /// - Parameter change: returns each holder as `other` should list it
  public func withLease(
    on other: some Publisher<some Sendable, Never>, as change: @escaping @Sendable (Holder) -> Holder = { $0 }
  ) -> Deferred<Output, Failure> {
    Deferred(attaching: { subscriber in
      let (lease, listening) = (Lifetime(), Lifetime())
      let both = Subscription {
        listening.end()
        lease.end()
      }
      subscriber.receiveSubscription(both)
      var listener = subscriber
      listener.receiveSubscription = { _ in }
      // The lease on `other` begins first and ends last, so that no value arrives while `other` is not running.
      other.subscribe(as: subscriber.holders.map(change), receiveValue: { _ in }).store(in: lease)
      attach(listener).store(in: listening)
      return both
    })
  }
}
