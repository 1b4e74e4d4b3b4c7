import Guarding

/// The latest values of all publishers, in their order, each time one of them changes, once each has sent a value.
///
/// Finishes when all have finished and fails when one fails. With no publishers it sends an empty array and finishes.
public func accumulateLatest<Output: Sendable, Failure: Error>(
  _ publishers: [any Publisher<Output, Failure>]
) -> Deferred<[Output], Failure> {
  Deferred.deriving { (run) throws(Failure) in
    guard !publishers.isEmpty else {
      run.send([])
      run.finish(.finished)
      return Subscription {}
    }
    let state = Guarded((latest: [Output?](repeating: nil, count: publishers.count), open: publishers.count))
    let lifetime = Lifetime()
    for (index, publisher) in publishers.enumerated() {
      run.subscribe(
        to: publisher,
        receiveValue: { value in
          // Staged under the lock, so that an older combination cannot overtake a newer one.
          let mustDeliver = state.withLock { state in
            state.latest[index] = value
            let all = state.latest.compactMap { $0 }
            return all.count == state.latest.count && run.stage(all)
          }
          if mustDeliver { run.deliver() }
        },
        receiveCompletion: { completion in
          guard case .finished = completion else { return run.finish(completion) }
          let isLast = state.withLock { state in
            state.open -= 1
            return state.open == 0
          }
          if isLast { run.finish(.finished) }
        }
      ).store(in: lifetime)
    }
    return Subscription { lifetime.end() }
  }
}
