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
