import Guarding

/// The methods that a `LazyPublisher` gives the body of a source to send values and to report its state, and the signal
/// to stop.
public struct SourceContext<Output: Sendable, Failure: Error>: Sendable {
  let publisher: LazyPublisher<Output, Failure>
  let run: RunState

  /// Set when the body must return, normally because the idle timeout after the last subscriber has passed.
  public let stop: StopSignal

  /// Delivers a value to the subscribers on this thread. If the body sends from several threads, another of them may
  /// deliver the value.
  public func send(_ value: Output) { publisher.send(value, run) }

  /// Reports that the device's supply has just been switched on. The minimum time on counts from here.
  public func switchedOn() { publisher.switchedOn(run) }

  /// Reports, from another thread, that the body hangs. The source counts as failed and is told to stop. It can start
  /// again once the body has returned.
  public func hangs(_ failure: Failure) { publisher.hangs(run, failure) }

  /// Reports, from another thread, that the run must begin again because its readings are out of date, for example
  /// after the machine was suspended. The run is told to stop. If the source has subscribers, they receive the failure.
  public func interrupts(_ failure: Failure) { publisher.interrupts(run, failure) }

  /// Reports that the source is up before it has a value to send.
  public func started() { if run.isFirstSignOfLife { publisher.showedLife(run) } }
}
