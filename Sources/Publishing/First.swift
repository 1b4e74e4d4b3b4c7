import Synchronization

extension Publisher {
  /// Publishes the first value, finishes, and ends the upstream lease. Finishes without a value if upstream does.
  ///
  /// ```swift
  /// let lease = receiver.fixes.first().subscribe(as: "greeting", receiveValue: { show($0) })
  /// ```
  public func first() -> Deferred<Output, Failure> { first { _ in true } }

  /// Publishes the first value that satisfies `isMet`, and finishes.
  ///
  /// ```swift
  /// let accurate = receiver.fixes.first { $0.horizontalErrorMetres < 5 }
  /// ```
  public func first(where isMet: @escaping @Sendable (Output) -> Bool) -> Deferred<Output, Failure> {
    Deferred.deriving { (run) throws(Failure) in
      let isFound = Atomic(false)
      return run.subscribe(
        to: self,
        receiveValue: { value in
          guard !isFound.load(ordering: .relaxed), isMet(value) else { return }
          // Values arrive one at a time. Another one can arrive only until the upstream lease has ended.
          isFound.store(true, ordering: .relaxed)
          run.send(value)
          run.finish(.finished)
        }, receiveCompletion: { run.finish($0) })
    }
  }
}
