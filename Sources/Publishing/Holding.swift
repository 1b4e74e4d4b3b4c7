extension Publisher {
  /// The same values, and for each subscriber a lease on `other` as well, whose values do not matter: what is heard here is
  /// kept going there.
  ///
  /// - Parameter change: describes each holder by what it holds there
  public func holding(
    _ other: some Publisher<some Sendable, Never>, as change: @escaping @Sendable (Holder) -> Holder = { $0 }
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
      // First what there is to hear, and last when it ends: nothing is heard that is not held.
      other.subscribe(as: subscriber.holders.map(change), receiveValue: { _ in }).store(in: lease)
      attach(listener).store(in: listening)
      return both
    })
  }
}
