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
      let lifetime = Lifetime()
      let both = Subscription { lifetime.end() }
      subscriber.receiveSubscription(both)
      var listener = subscriber
      listener.receiveSubscription = { _ in }
      // First who listens, then what there is to hear.
      attach(listener).store(in: lifetime)
      other.subscribe(as: name(subscriber.name), receiveValue: { _ in }).store(in: lifetime)
      return both
    })
  }
}
