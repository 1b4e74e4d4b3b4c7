extension Publisher {
  /// Subscribes each time the signal fires, ending the subscription before: a run per signal, none until the first.
  ///
  /// Finishes when a run has finished after the signal has; a failure ends it at once.
  public func publish(onOutputFrom signal: some Publisher<some Sendable, Never>) -> Deferred<Output, Failure> {
    rerun(onOutputFrom: signal, atOnce: false)
  }

  /// Subscribes at once, and again each time the signal fires.
  ///
  /// A run that has finished waits for the next signal; a failure ends it.
  public func publishAndRepeat(onOutputFrom signal: some Publisher<some Sendable, Never>) -> Deferred<Output, Failure> {
    rerun(onOutputFrom: signal, atOnce: true)
  }

  private func rerun(
    onOutputFrom signal: some Publisher<some Sendable, Never>, atOnce: Bool
  ) -> Deferred<Output, Failure> {
    Deferred.deriving { (run) throws(Failure) in
      let current = CurrentSubscription(isExpected: atOnce)
      let start: @Sendable () -> Void = { [weak current] in
        current?.replace { place in
          subscribe(
            as: run.holders,
            receiveValue: { value in
              // Staged where it cannot be replaced, so that no value of this run comes after one of the next.
              if place.isCurrent(and: { run.stage(value) }) { run.deliver() }
            },
            receiveCompletion: { completion in
              guard let isLast = place.complete() else { return }
              if case .finished = completion, !isLast { return }
              run.finish(completion)
            })
        }
      }
      // Both the signal and the present run have to be over before there is nothing more to come.
      let trigger = signal.subscribe(
        as: run.holders, receiveValue: { _ in start() },
        receiveCompletion: { [weak current] _ in if current?.close() == true { run.finish(.finished) } })
      if atOnce { start() }
      return Subscription {
        trigger.cancel()
        current.end()
      }
    }
  }

  /// The same values, but the end waits for the signal: what is appended, the next page for example, begins only when
  /// somebody asks for it.
  public func wait(untilOutputFrom signal: some Publisher<some Sendable, Never>) -> Deferred<Output, Failure> {
    Deferred.deriving { (run) throws(Failure) in
      let lifetime = Lifetime()
      subscribe(
        as: run.holders, receiveValue: { run.send($0) },
        receiveCompletion: { [weak lifetime] completion in
          guard case .finished = completion, let lifetime else { return run.finish(completion) }
          signal.subscribe(
            as: run.holders, receiveValue: { _ in run.finish(.finished) },
            receiveCompletion: { _ in run.finish(.finished) }
          ).store(in: lifetime)
        }
      ).store(in: lifetime)
      return Subscription { lifetime.end() }
    }
  }
}
