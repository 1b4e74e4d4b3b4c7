import MonotonicTime

/// Values with their timing, played back anew to each subscriber.
public struct Recording<Output: Sendable, Failure: Error>: Publisher {
  public struct Entry: Sendable {
    /// Since the recording's start.
    public var offset: Duration
    public var value: Output

    public init(offset: Duration, value: Output) {
      self.offset = offset
      self.value = value
    }
  }

  public var entries: [Entry]
  /// When and how the recording ends; `nil` for one that was cut off, and whose playback does not end.
  public var completion: (offset: Duration, completion: Completion<Failure>)?
  private let clock: any MonotonicTimeSource

  /// - Parameter entries: in the order of their offsets
  public init(
    _ entries: [Entry], completion: (offset: Duration, completion: Completion<Failure>)? = nil,
    clock: any MonotonicTimeSource = MonotonicClock()
  ) {
    self.entries = entries
    self.completion = completion
    self.clock = clock
  }

  public func attach(_ subscriber: Subscriber<Output, Failure>) -> Subscription {
    LazyPublisher<Output, Failure>(subscriber.name) { [self] (run) throws(Failure) in
      let start = clock.now
      let player = Task { [entries, completion, clock] in
        do {
          for entry in entries {
            try await clock.sleep(until: start + entry.offset, tolerance: nil)
            run.send(entry.value)
          }
          guard let completion else { return }
          try await clock.sleep(until: start + completion.offset, tolerance: nil)
          run.finish(completion.completion)
        } catch {
          // Cancelled: the subscriber has left.
        }
      }
      return Subscription { player.cancel() }
    }.attach(subscriber)
  }
}
