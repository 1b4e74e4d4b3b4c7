import Guarding

/// Why an action did not do its work.
public enum ActionError<Failure: Error>: Error {
  /// It is at work already; only one at a time.
  case disabled
  case failed(Failure)
}

extension ActionError: Equatable where Failure: Equatable {}

extension ActionError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .disabled: "it is at work already, and does one thing at a time"
    case .failed(let error): "\(error)"
    }
  }
}

/// A job that only one can have done at a time, and everybody can watch: a calibration, a self-test, a query.
///
/// Nothing happens until what `apply` returns is subscribed to. The job's subscription is the job: cancelling it ends it.
public final class Action<Input: Sendable, Output: Sendable, Failure: Error>: Sendable {
  private let work: @Sendable (Input) -> any Publisher<Output, Failure>
  private let isBusy = Guarded(false)
  private let mutableIsExecuting = MutableProperty(false)

  public init(_ work: @escaping @Sendable (Input) -> any Publisher<Output, Failure>) { self.work = work }

  /// Whether a job is under way: from before its work begins until after its subscription upstream has ended, which is
  /// before its completion arrives. Where this says no, the next job is not refused.
  public var isExecuting: Property<Bool> { mutableIsExecuting.readOnly }

  /// The job for this input. It fails with `.disabled` where another one is under way when it is subscribed to.
  public func apply(_ input: Input) -> Deferred<Output, ActionError<Failure>> {
    Deferred.deriving { (run) throws(ActionError<Failure>) in
      guard self.setBusy(true) else { throw .disabled }
      let upstream = self.start(input, run)
      return Subscription {
        upstream.cancel()
        _ = self.setBusy(false)
      }
    }
  }

  /// Returns whether that was a change. Staged under the lock, so that the property never says what was true before.
  private func setBusy(_ isBusy: Bool) -> Bool {
    let (isChange, mustDeliver) = self.isBusy.withLock { wasBusy in
      guard wasBusy != isBusy else { return (false, false) }
      wasBusy = isBusy
      return (true, mutableIsExecuting.stage(isBusy))
    }
    if mustDeliver { mutableIsExecuting.deliver() }
    return isChange
  }

  private func start(
    _ input: Input, _ run: Activating<Output, ActionError<Failure>>
  ) -> Subscription {
    run.subscribe(
      to: work(input), receiveValue: { run.send($0) },
      receiveCompletion: { completion in
        switch completion {
        case .finished: run.finish(.finished)
        case .failed(let error): run.finish(.failed(.failed(error)))
        }
      })
  }
}
