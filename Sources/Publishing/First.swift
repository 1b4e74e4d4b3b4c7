import Synchronization

extension Publisher {
  /// The first value, and the end: the lease upstream ends with it. Where there is no value, only the end.
  public func first() -> Deferred<Output, Failure> { first { _ in true } }

  /// The first value that meets a condition, and the end.
  public func first(where isMet: @escaping @Sendable (Output) -> Bool) -> Deferred<Output, Failure> {
    Deferred.deriving { (run) throws(Failure) in
      let isFound = Atomic(false)
      return run.subscribe(
        to: self,
        receiveValue: { value in
          guard !isFound.load(ordering: .relaxed), isMet(value) else { return }
          // Values come one at a time; a further one only before the lease upstream has ended.
          isFound.store(true, ordering: .relaxed)
          run.send(value)
          run.finish(.finished)
        }, receiveCompletion: { run.finish($0) })
    }
  }
}
