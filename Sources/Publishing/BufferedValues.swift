import Guarding

/// How many values to keep for a slow consumer.
public enum Buffering: Equatable, Sendable {
  /// Keeps the newest values, at most `count`. Older values are dropped and counted.
  case newest(Int)

  var capacity: Int {
    switch self {
    case .newest(let count): max(count, 1)
    }
  }
}

extension Publisher {
  /// The values as an asynchronous sequence.
  ///
  /// ```swift
  /// for try await fix in receiver.values(as: "trip", buffering: .newest(64)) { await append(fix) }
  /// ```
  ///
  /// Each iteration has its own subscription, from its first `next()` until it ends. A slow iteration delays neither
  /// the source nor other subscribers.
  public func values(as holder: Holder, buffering: Buffering = .newest(16)) -> BufferedValues<Output, Failure> {
    BufferedValues(upstream: self, holder: holder, capacity: buffering.capacity)
  }
}

/// A publisher's values as an asynchronous sequence, with a buffer between the sending thread and the waiting task.
public struct BufferedValues<Element: Sendable, Failure: Error>: AsyncSequence, Sendable {
  fileprivate let upstream: any Publisher<Element, Failure>
  fileprivate let holder: Holder
  fileprivate let capacity: Int

  public func makeAsyncIterator() -> Iterator {
    Iterator(upstream: upstream, holder: holder, buffer: ValueBuffer(capacity: capacity))
  }

  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let upstream: any Publisher<Element, Failure>
    fileprivate let holder: Holder
    fileprivate let buffer: ValueBuffer<Element, Failure>
    private var subscription: Subscription?

    fileprivate init(upstream: any Publisher<Element, Failure>, holder: Holder, buffer: ValueBuffer<Element, Failure>) {
      self.upstream = upstream
      self.holder = holder
      self.buffer = buffer
    }

    /// The number of values dropped because this consumer was too slow.
    public var droppedCount: Int { buffer.droppedCount }

    public mutating func next() async throws(Failure) -> Element? { try await next(isolation: #isolation) }

    public mutating func next(isolation: isolated (any Actor)?) async throws(Failure) -> Element? {
      if subscription == nil {
        let buffer = buffer
        subscription = upstream.subscribe(
          as: holder, receiveValue: { buffer.append($0) }, receiveCompletion: { buffer.complete($0) })
      }
      return try await buffer.next().get()
    }
  }
}

private final class ValueBuffer<Element: Sendable, Failure: Error>: Sendable {
  typealias Waiter = UnsafeContinuation<Result<Element?, Failure>, Never>

  private struct State {
    var values: BoundedQueue<Element>
    var completion: Completion<Failure>?
    var waiter: Waiter?
  }

  private let state: Guarded<State>

  init(capacity: Int) {
    var values = BoundedQueue<Element>(limit: capacity)
    // `append` adds a value before it drops the oldest.
    values.reserveCapacity(capacity + 1)
    state = Guarded(State(values: values))
  }

  var droppedCount: Int { state.withLock { $0.values.droppedCount } }

  func append(_ value: Element) {
    let waiter = state.withLock { state -> Waiter? in
      if let waiter = state.waiter {
        state.waiter = nil
        return waiter
      }
      state.values.append(value)
      return nil
    }
    waiter?.resume(returning: .success(value))
  }

  func complete(_ completion: Completion<Failure>) {
    let waiter = state.withLock { state -> Waiter? in
      defer { state.waiter = nil }
      guard let waiter = state.waiter else {
        state.completion = completion
        return nil
      }
      // A failure is thrown once. After that the sequence has ended.
      state.completion = .finished
      return waiter
    }
    waiter?.resume(returning: ValueBuffer.result(completion))
  }

  func next() async -> Result<Element?, Failure> {
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let ready = state.withLock { state -> Result<Element?, Failure>? in
          if let value = state.values.popFirst() { return .success(value) }
          if let completion = state.completion {
            state.completion = .finished
            return ValueBuffer.result(completion)
          }
          if Task.isCancelled { return .success(nil) }
          state.waiter = continuation
          return nil
        }
        if let ready { continuation.resume(returning: ready) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        defer { state.waiter = nil }
        return state.waiter
      }
      waiter?.resume(returning: .success(nil))
    }
  }

  private static func result(_ completion: Completion<Failure>) -> Result<Element?, Failure> {
    switch completion {
    case .finished: .success(nil)
    case .failed(let error): .failure(error)
    }
  }
}
