import Guarding

/// A lease on what a publisher needs to run. It ends when it is cancelled or dropped.
public final class Subscription: Sendable {
  private let onCancel: Guarded<Callback?>

  public init(_ onCancel: @escaping @Sendable () -> Void) { self.onCancel = Guarded(Callback(onCancel)) }

  /// Ends the lease. Once this has returned on the thread that delivers values no further one arrives; on another
  /// thread at most the one that is being delivered.
  public func cancel() {
    let action = onCancel.withLock { action in
      defer { action = nil }
      return action
    }
    action?()
  }

  /// Keeps the subscription for as long as the lifetime.
  public func store(in lifetime: Lifetime) { lifetime.hold(self) }

  deinit { cancel() }
}

/// Subscriptions that end together with their owner.
public final class Lifetime: Sendable {
  private let subscriptions = Guarded<[Subscription]?>([])

  public init() {}

  /// Holds a subscription until the lifetime ends; at once ends one that comes too late.
  public func hold(_ subscription: Subscription) {
    let isOver = subscriptions.withLock { held in
      held?.append(subscription)
      return held == nil
    }
    if isOver { subscription.cancel() }
  }

  /// Ends all subscriptions, those to come included.
  public func end() {
    let held = subscriptions.withLock { held in
      defer { held = nil }
      return held
    }
    for subscription in held ?? [] { subscription.cancel() }
  }

  deinit { end() }
}
