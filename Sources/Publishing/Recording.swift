import MonotonicTime

/// Recorded values that are played back, with their original timing, separately to each subscriber.
///
/// ```swift
/// let replay = Recording<Double, Never>([.init(offset: .zero, value: 20.5), .init(offset: .seconds(1), value: 20.7)])
/// ```
public struct Recording<Output: Sendable, Failure: Error>: Publisher {
  public struct Entry: Sendable {
    /// The time since the start of the recording.
    public var offset: Duration
    public var value: Output

    public init(offset: Duration, value: Output) {
      self.offset = offset
      self.value = value
    }
  }

  public var entries: [Entry]
  /// When and how the recording ends. `nil` if it was cut off; its playback then never completes.
  public var completion: (offset: Duration, completion: Completion<Failure>)?
  private let clock: any MonotonicTimeSource

  /// - Parameter entries: sorted by offset
  public init(
    _ entries: [Entry], completion: (offset: Duration, completion: Completion<Failure>)? = nil,
    clock: any MonotonicTimeSource = MonotonicClock()
  ) {
    self.entries = entries
    self.completion = completion
    self.clock = clock
  }

  public func attach(_ subscriber: Subscriber<Output, Failure>) -> Subscription {
    LazyPublisher<Output, Failure>(deriving: subscriber.holders.label) { [self] (run) throws(Failure) in
      let player = Player(recording: self, run: run, clock: clock)
      player.play(from: 0)
      return Subscription { player.stop() }
    }.attach(subscriber)
  }

  /// One playback. Each entry schedules the next one.
  private final class Player: Sendable {
    private let recording: Recording
    private let run: ActivationContext<Output, Failure>
    private let start: MonotonicInstant
    private let alarm: Alarm

    init(recording: Recording, run: ActivationContext<Output, Failure>, clock: any MonotonicTimeSource) {
      self.recording = recording
      self.run = run
      start = clock.now
      alarm = Alarm(clock: clock)
    }

    func play(from index: Int) {
      if index < recording.entries.count {
        let entry = recording.entries[index]
        alarm.set(at: start + entry.offset) { [self] in
          run.send(entry.value)
          play(from: index + 1)
        }
      } else if let completion = recording.completion {
        alarm.set(at: start + completion.offset) { [run] in run.finish(completion.completion) }
      }
    }

    func stop() { alarm.end() }
  }
}
