extension Publisher {
  /// Subscribes each time the signal fires, and ends the previous subscription. Nothing runs before the first signal.
  ///
  /// ```swift
  /// let answers = query.publish(onOutputFrom: refreshButton)
  /// ```
  ///
  /// Finishes when the signal and then the last run have finished. Fails when a run fails.
  public func publish(onOutputFrom signal: some Publisher<some Sendable, Never>) -> Deferred<Output, Failure> {
    rerun(onOutputFrom: signal, atOnce: false)
  }

  /// Subscribes immediately, and again each time the signal fires.
  ///
  /// ```swift
  /// let listing = query.publishAndRepeat(onOutputFrom: fileChanged)
  /// ```
  ///
  /// After a run has finished, the publisher waits for the next signal. It finishes when the signal and then the last
  /// run have finished, and fails when a run fails.
  public func publishAndRepeat(onOutputFrom signal: some Publisher<some Sendable, Never>) -> Deferred<Output, Failure> {
    rerun(onOutputFrom: signal, atOnce: true)
  }

  private func rerun(
    onOutputFrom signal: some Publisher<some Sendable, Never>, atOnce: Bool
  ) -> Deferred<Output, Failure> {
    Deferred.deriving { (run) throws(Failure) in
      let current = CurrentSubscription(isExpected: atOnce)
      let start: @Sendable () -> Void = { [weak current] in
        current?.replace { link in
          subscribe(
            as: run.holders,
            receiveValue: { value in
              // The value is staged while the run cannot be replaced, so that no value of this run follows a value of
              // the next run.
              if link.isCurrent(and: { run.stage(value) }) { run.deliver() }
            },
            receiveCompletion: { completion in
              guard let isLast = link.complete() else { return }
              if case .finished = completion, !isLast { return }
              run.finish(completion)
            })
        }
      }
      // After both the signal and the current run have ended, no further value can come.
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

  /// Publishes the same values, but delays the end until the signal fires or finishes, so that the next step, for
  /// example the next page, starts only on demand. A failure is not delayed.
  ///
  /// ```swift
  /// let page = firstPage.wait(untilOutputFrom: nextButton)
  /// ```
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

/// Sends signals by ID: activating an ID fires the signals of all equal IDs.
///
/// ```swift
/// let refresh = Trigger<String>()
/// let listing = query.publishAndRepeat(onOutputFrom: refresh.signal(for: "stations"))
/// refresh.activate("stations")
/// ```
///
/// IDs are compared and not hashed, so that an ID may equal several others, for example "everything" and "the GPS".
public struct Trigger<ID: Equatable & Sendable>: Sendable {
  private let subject = Subject<ID, Never>()

  public init() {}

  public func activate(_ id: ID) { subject.send(id) }

  /// Fires whenever an equal ID is activated.
  public func signal(for id: ID) -> Deferred<Void, Never> {
    subject.compactMap { $0 == id ? () : nil }
  }
}
