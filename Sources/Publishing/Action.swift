import Guarding

/// Why an action did not do its work.
public enum ActionError<Failure: Error>: Error {
  /// Another job is already running. An action runs one job at a time.
  case disabled
  case failed(Failure)
}

extension ActionError: Equatable where Failure: Equatable {}

extension ActionError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .disabled: "it is busy: try again when the present action has ended"
    case .failed(let error): "\(error)"
    }
  }
}

/// A job that runs at most once at a time, such as a calibration, a self-test or a query. Any client can observe
/// whether it is running.
///
/// Calling `apply` does not start anything; subscribing to its result starts the job. Cancelling that subscription
/// cancels the job.
///
/// ```swift
/// let calibration = Action<Axis, Offset, CalibrationError> { axis in imu.measureOffset(of: axis) }
/// let lease = calibration.apply(.z).subscribe(
///   as: "calibration", receiveValue: { store($0) }, receiveCompletion: { report($0) })
/// ```
public final class Action<Input: Sendable, Output: Sendable, Failure: Error>: Sendable {
  private let work: @Sendable (Input) -> any Publisher<Output, Failure>
  private let isBusy = Guarded(false)
  private let mutableIsExecuting = MutableProperty(false)

  public init(_ work: @escaping @Sendable (Input) -> any Publisher<Output, Failure>) { self.work = work }

  /// Whether a job is running.
  ///
  /// It becomes `true` before the job subscribes upstream and `false` after that subscription has ended, just before
  /// the job's completion arrives. While it is `false`, the next job is accepted.
  public var isExecuting: Property<Bool> { mutableIsExecuting.readOnly }

  /// Returns the job for this input. The job fails with `.disabled` if another one is running when a client
  /// subscribes to it.
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

  /// Sets whether a job is running. Returns whether the value changed. The change is staged under the lock so that the
  /// property never reports an outdated value.
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
    _ input: Input, _ run: ActivationContext<Output, ActionError<Failure>>
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
