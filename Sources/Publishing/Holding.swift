extension Publisher {
  /// The same values, and for each subscriber a lease on `other` as well, whose values do not matter: what is heard here is
  /// kept going there.
  ///
  /// - Parameter name: what the subscriber is called there
  public func holding(
    _ other: some Publisher<some Sendable, Never>,
    as name: @escaping @Sendable (_ subscriber: String) -> String = { $0 }
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
      other.subscribe(as: name(subscriber.name), receiveValue: { _ in }).store(in: lease)
      attach(listener).store(in: listening)
      return both
    })
  }
}
