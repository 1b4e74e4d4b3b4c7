import Guarding

/// Collects what a test observes, from any thread, and lets the test wait for it.
public final class Recorder<Value: Sendable>: Sendable {
  private struct State {
    var values: [Value] = []
    var waiters: [(isMet: @Sendable ([Value]) -> Bool, continuation: UnsafeContinuation<Void, Never>)] = []
  }

  private let state = Guarded(State())

  public init() {}

  public var values: [Value] { state.withLock { $0.values } }

  /// Forgets the values: where they hold on to what holds the recorder.
  public func removeAll() { state.withLock { $0.values = [] } }

  public func append(_ value: Value) {
    let met = state.withLock { state in
      state.values.append(value)
      let met = state.waiters.filter { $0.isMet(state.values) }.map(\.continuation)
      state.waiters.removeAll { $0.isMet(state.values) }
      return met
    }
    for waiter in met { waiter.resume() }
  }

  /// Returns the values once there are at least `count`.
  public func first(_ count: Int) async -> [Value] { await values { $0.count >= count } }

  /// Returns the values once they meet a condition. The test's own time limit is the deadline.
  public func values(where isMet: @escaping @Sendable ([Value]) -> Bool) async -> [Value] {
    await withUnsafeContinuation { continuation in
      let isMetAlready = state.withLock { state in
        if isMet(state.values) { return true }
        state.waiters.append((isMet, continuation))
        return false
      }
      if isMetAlready { continuation.resume() }
    }
    return values
  }
}
