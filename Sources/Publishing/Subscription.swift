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
