import Synchronization

/// Why an action did not do its work.
public enum ActionError<Failure: Error>: Error {
  /// It is at work already; only one at a time.
  case disabled
  case failed(Failure)
}

extension ActionError: Equatable where Failure: Equatable {}

/// A job that only one can have done at a time, and everybody can watch: a calibration, a self-test, a query.
///
/// Nothing happens until what `apply` returns is subscribed to. The job's subscription is the job: cancelling it ends it.
public final class Action<Input: Sendable, Output: Sendable, Failure: Error>: Sendable {
  private let work: @Sendable (Input) -> any Publisher<Output, Failure>
  private let isBusy = Atomic(false)
  private let mutableIsExecuting = MutableProperty(false)

  public init(_ work: @escaping @Sendable (Input) -> any Publisher<Output, Failure>) { self.work = work }

  public var isExecuting: Property<Bool> { mutableIsExecuting.readOnly }

  /// The job for this input. It fails with `.disabled` where another one is under way when it is subscribed to.
  public func apply(_ input: Input) -> Deferred<Output, ActionError<Failure>> {
    Deferred { (subscriber, run) throws(ActionError<Failure>) in
      guard !self.isBusy.exchange(true, ordering: .acquiringAndReleasing) else { throw .disabled }
      self.mutableIsExecuting.value = true
      let upstream = self.start(input, subscriber, run)
      return Subscription {
        upstream.cancel()
        self.isBusy.store(false, ordering: .releasing)
        self.mutableIsExecuting.value = false
      }
    }
  }

  private func start(
    _ input: Input, _ subscriber: String, _ run: Activating<Output, ActionError<Failure>>
  ) -> Subscription {
    work(input).subscribe(
      as: subscriber, receiveValue: { run.send($0) },
      receiveCompletion: { completion in
        switch completion {
        case .finished: run.finish(.finished)
        case .failed(let error): run.finish(.failed(.failed(error)))
        }
      })
  }
}
