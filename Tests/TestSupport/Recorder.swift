import Guarding

/// Collects what a test observes, from any thread, and lets the test wait for it.
public final class Recorder<Value: Sendable>: Sendable {
  private struct State {
    var values: [Value] = []
    var waiters: [(isMet: @Sendable ([Value]) -> Bool, continuation: UnsafeContinuation<[Value], Never>)] = []
  }

  private let state = Guarded(State())

  public init() {}

  public var values: [Value] { state.withLock { $0.values } }

  /// Forgets the values: where they hold on to what holds the recorder.
  public func removeAll() { state.withLock { $0.values = [] } }

  public func append(_ value: Value) {
    let (met, values) = state.withLock { state in
      state.values.append(value)
      let met = state.waiters.filter { $0.isMet(state.values) }.map(\.continuation)
      state.waiters.removeAll { $0.isMet(state.values) }
      return (met, state.values)
    }
    for waiter in met { waiter.resume(returning: values) }
  }

  /// Returns the first `count` values once there are as many.
  @discardableResult
  public func first(_ count: Int) async -> [Value] { Array(await values { $0.count >= count }.prefix(count)) }

  /// Returns the first value that meets a condition, whatever has come after it.
  public func first(where isMet: @escaping @Sendable (Value) -> Bool) async -> Value {
    let values = await values { $0.contains(where: isMet) }
    return values.first(where: isMet)!
  }

  /// Returns the values as they were when they met a condition, or as they are, if they do so already. The test's own
  /// time limit is the deadline.
  @discardableResult
  public func values(where isMet: @escaping @Sendable ([Value]) -> Bool) async -> [Value] {
    await withUnsafeContinuation { continuation in
      let met: [Value]? = state.withLock { state in
        if isMet(state.values) { return state.values }
        state.waiters.append((isMet, continuation))
        return nil
      }
      if let met { continuation.resume(returning: met) }
    }
  }
}
