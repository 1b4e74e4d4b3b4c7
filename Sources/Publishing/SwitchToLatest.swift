import Guarding

extension Publisher where Failure == Never {
  /// Publishes the values of another publisher, which the latest value of this one determines.
  ///
  /// ```swift
  /// let rate = settings.switchToLatest(by: \.rateHz) { clock.ticks(rateHz: $0.rateHz) }
  /// ```
  ///
  /// The other publisher is replaced only when `key` changes. The subscription to the new one begins before the
  /// subscription to the old one ends, so that an upstream that both need keeps running. No value of the old one
  /// follows a value of the new one. If this publisher is a `Property`, `subscribe` returns after it has subscribed to
  /// the publisher for the present value. Finishes when both this publisher and the last other publisher have finished.
  public func switchToLatest<Key: Equatable & Sendable, NewOutput: Sendable>(
    by key: @escaping @Sendable (Output) -> Key,
    _ choose: @escaping @Sendable (Output) -> any Publisher<NewOutput, Never>
  ) -> Deferred<NewOutput, Never> {
    Deferred.deriving { (run) throws(Never) in
      holdLatest(by: key, as: run.holders, receiveCompletion: { run.finish(.finished) }) { output, link in
        choose(output).subscribe(
          as: run.holders,
          receiveValue: { value in
            // The value is staged while the publisher cannot be replaced, which keeps the order.
            if link.isCurrent(and: { run.stage(value) }) { run.deliver() }
          },
          receiveCompletion: { _ in if link.complete() == true { run.finish(.finished) } })
      }
    }
  }

  /// Holds the subscription that `hold` returns for the latest value, and replaces it when `key` changes. The new
  /// subscription is made before the old one ends, so a source that both keep running does not stop.
  ///
  /// ```swift
  /// let lease = boards.holdLatest(by: \.receivers, as: holders) { $0.receivers.lease(as: holders) }
  /// ```
  public func holdLatest<Key: Equatable & Sendable>(
    by key: @escaping @Sendable (Output) -> Key, as holders: Holders,
    _ hold: @escaping @Sendable (Output) -> Subscription
  ) -> Subscription {
    holdLatest(by: key, as: holders, receiveCompletion: {}) { output, _ in hold(output) }
  }

  private func holdLatest<Key: Equatable & Sendable>(
    by key: @escaping @Sendable (Output) -> Key, as holders: Holders,
    receiveCompletion: @escaping @Sendable () -> Void,
    _ hold: @escaping @Sendable (Output, CurrentSubscription.Link) -> Subscription
  ) -> Subscription {
    let current = CurrentSubscription(isExpected: false)
    let present = Guarded<Key?>(nil)
    let follow: @Sendable (Output) -> Void = { [weak current] output in
      let key = key(output)
      let isChange = present.withLock { present in
        defer { present = key }
        return present != key
      }
      if isChange { current?.replace(overlaps: true) { link in hold(output, link) } }
    }
    // A property delivers its value later if this call comes from one of its handlers, or if another thread is
    // delivering. A handler that replaces a subscription would then leave the old publisher before it holds the new
    // one. The present value is therefore read directly.
    if let property = self as? Property<Output> { follow(property.value) }
    let choices = subscribe(
      as: holders, receiveValue: follow,
      receiveCompletion: { [weak current] _ in if current?.close() == true { receiveCompletion() } })
    return Subscription {
      choices.cancel()
      current.end()
    }
  }
}
