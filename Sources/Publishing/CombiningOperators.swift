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

/// Combines the latest values of all publishers into one array, in the order of the publishers.
/// The first array is sent once every publisher has sent a value, and a new one each time any of them sends another
/// value.
///
/// ```swift
/// let celsius = accumulateLatest([indoor, outdoor])
/// let lease = celsius.subscribe(as: "display", receiveValue: { show(indoor: $0[0], outdoor: $0[1]) })
/// ```
///
/// Finishes when all publishers have finished, and fails when one of them fails. Without publishers it sends one
/// empty array and finishes.
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
          // The array is staged under the lock, so that an older combination cannot overtake a newer one.
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
