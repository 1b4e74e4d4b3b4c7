import Guarding

/// The values of all publishers, as they come.
///
/// Finishes when all have finished, at once where there are none, and fails when one fails.
public func merge<Output: Sendable, Failure: Error>(
  _ publishers: [any Publisher<Output, Failure>]
) -> Deferred<Output, Failure> {
  Deferred.deriving { (run) throws(Failure) in
    if publishers.isEmpty { run.finish(.finished) }
    let open = Guarded(publishers.count)
    let lifetime = Lifetime()
    for publisher in publishers {
      if run.isOver { break }
      run.subscribe(
        to: publisher, receiveValue: { run.send($0) },
        receiveCompletion: { completion in
          guard case .finished = completion else { return run.finish(completion) }
          let isLast = open.withLock { open in
            open -= 1
            return open == 0
          }
          if isLast { run.finish(.finished) }
        }
      ).store(in: lifetime)
    }
    return Subscription { lifetime.end() }
  }
}

extension Publisher {
  /// These values and those of the others, as they come.
  ///
  /// Finishes when all have finished and fails when one fails.
  public func merge(with others: any Publisher<Output, Failure>...) -> Deferred<Output, Failure> {
    Publishing.merge([self] + others)
  }
}
