import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// Collects the observations of a test, from any thread, and lets the test wait for them.
public final class Recorder<Value: Sendable>: Sendable {
  private struct Waiter {
    let isMet: @Sendable ([Value]) -> Bool
    let continuation: UnsafeContinuation<[Value], Never>
  }

  private struct State {
    var values: [Value] = []
    var waiters: [Waiter] = []
    /// The signals of the threads that wait.
    var signals: [WakeSignal] = []
  }

  private let state = Guarded(State())

  public init() {}

  public var values: [Value] { state.withLock { $0.values } }

  /// Removes the values, for cases where they retain an object that retains the recorder.
  public func removeAll() { state.withLock { $0.values = [] } }

  public func append(_ value: Value) {
    let (met, values) = state.withLock { state in
      state.values.append(value)
      let met = state.waiters.filter { $0.isMet(state.values) }.map(\.continuation)
      state.waiters.removeAll { $0.isMet(state.values) }
      for signal in state.signals { signal.raise() }
      return (met, state.values)
    }
    for waiter in met { waiter.resume(returning: values) }
  }

  /// Returns the first `count` values once there are that many.
  @discardableResult
  public func first(_ count: Int) async -> [Value] { Array(await values { $0.count >= count }.prefix(count)) }

  /// Returns the first value that meets a condition, even if others have followed it.
  public func first(where isMet: @escaping @Sendable (Value) -> Bool) async -> Value {
    let values = await values { $0.contains(where: isMet) }
    guard let value = values.first(where: isMet) else {
      preconditionFailure("the expected values did not arrive in time; the last values: \(values.suffix(3))")
    }
    return value
  }

  /// Waits until the values meet a condition, and returns the values of that moment. The test's own time limit is the
  /// deadline: it cancels the test, and the call then returns the present values.
  @discardableResult
  public func values(where isMet: @escaping @Sendable ([Value]) -> Bool) async -> [Value] {
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let met: [Value]? = state.withLock { state in
          if isMet(state.values) || Task.isCancelled { return state.values }
          state.waiters.append(Waiter(isMet: isMet, continuation: continuation))
          return nil
        }
        if let met { continuation.resume(returning: met) }
      }
    } onCancel: {
      let (waiters, values) = state.withLock { state in
        defer { state.waiters = [] }
        return (state.waiters, state.values)
      }
      for waiter in waiters { waiter.continuation.resume(returning: values) }
    }
  }

  /// Blocks until the values meet a condition, which is checked again after each new value. The deadline is that of
  /// `eventually`, and delays only tests that fail.
  ///
  /// - Returns: whether the values met the condition before the deadline
  public func waits(within limit: Duration = .seconds(180), until isMet: ([Value]) throws -> Bool) rethrows -> Bool {
    let clock = MonotonicClock()
    let deadline = clock.now + limit
    let signal = WakeSignal()
    state.withLock { $0.signals.append(signal) }
    defer { state.withLock { $0.signals.removeAll { $0 === signal } } }
    while true {
      signal.clear()
      if try isMet(values) { return true }
      let rest = deadline - clock.now
      guard rest > .zero else { return false }
      _ = Poller(stop: -1).wait(for: signal.fileDescriptor, atMost: rest)
    }
  }
}

extension Property {
  /// Blocks until the present value or a later one meets a condition, as `Recorder.waits`.
  ///
  /// ```swift
  /// #expect(hub.monitors[0].changes.waits { $0.power == .off })
  /// ```
  ///
  /// - Returns: whether a value met the condition before the deadline
  public func waits(within limit: Duration = .seconds(180), until isMet: (Value) -> Bool) -> Bool {
    let values = Recorder<Value>()
    let subscription = subscribe(as: "test", receiveValue: { values.append($0) })
    defer { subscription.cancel() }
    var seenCount = 0
    return values.waits(within: limit) { values in
      defer { seenCount = values.count }
      return values[seenCount...].contains(where: isMet)
    }
  }
}
