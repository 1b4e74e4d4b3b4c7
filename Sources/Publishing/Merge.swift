import Guarding

/// Publishes the values of all publishers as they arrive.
///
/// ```swift
/// let fixes = merge(receivers.map { $0.fixes })
/// ```
///
/// Finishes when all publishers have finished, immediately if there are none, and fails when one of them fails.
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
  /// Publishes the values of this publisher and the others as they arrive.
  ///
  /// ```swift
  /// let fixes = internalReceiver.fixes.merge(with: externalReceiver.fixes)
  /// ```
  ///
  /// Finishes when all publishers have finished, and fails when one of them fails.
  public func merge(with others: any Publisher<Output, Failure>...) -> Deferred<Output, Failure> {
    Publishing.merge([self] + others)
  }
}
