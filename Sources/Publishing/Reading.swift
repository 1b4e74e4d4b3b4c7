import Guarding

/// What a source's body is given: where to send, and when to stop.
public struct Reading<Output: Sendable, Failure: Error>: Sendable {
  let publisher: LazyPublisher<Output, Failure>
  let run: SourceRun

  /// Set when the body is to return, after its last subscriber has left.
  public let stop: StopSignal

  /// Hands a value to the subscribers, on this thread; or on one that is delivering already, where the body sends from
  /// several.
  public func send(_ value: Output) { publisher.send(value, run) }

  /// Says that the device's supply has just been switched on: its minimum time on begins.
  public func switchedOn() { publisher.switchedOn(run) }

  /// Says, on another thread, that the body hangs: the source has failed from here on, and is told to stop. It starts again once the
  /// body has returned.
  public func hangs(_ failure: Failure) { publisher.hangs(run, failure) }

  /// Says that the source is up before it has a value to send.
  public func started() { if run.isFirstSignOfLife { publisher.showedLife(run) } }
}
