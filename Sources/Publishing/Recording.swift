import Guarding
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
    private let clock: any MonotonicTimeSource
    private let start: MonotonicInstant
    private let next = Guarded(Next())

    private struct Next: Sendable {
      var action: ScheduledAction?
      /// The number of the last scheduled step. A step that is due immediately runs, and schedules the next step,
      /// before its own call of `schedule` has returned.
      var step = 0
      var isOver = false
    }

    init(recording: Recording, run: ActivationContext<Output, Failure>, clock: any MonotonicTimeSource) {
      self.recording = recording
      self.run = run
      self.clock = clock
      start = clock.now
    }

    func play(from index: Int) {
      if index < recording.entries.count {
        let entry = recording.entries[index]
        schedule(entry.offset) { player in
          player.run.send(entry.value)
          player.play(from: index + 1)
        }
      } else if let completion = recording.completion {
        schedule(completion.offset) { $0.run.finish(completion.completion) }
      }
    }

    func stop() {
      let action = next.withLock { next in
        next.isOver = true
        defer { next.action = nil }
        return next.action
      }
      action?.cancel()
    }

    private func schedule(_ offset: Duration, _ step: @escaping @Sendable (Player) -> Void) {
      let number: Int? = next.withLock { next in
        if next.isOver { return nil }
        next.step += 1
        return next.step
      }
      guard let number else { return }
      let action = clock.schedule(at: start + offset) { [self] in step(self) }
      let isOver = next.withLock { next in
        if !next.isOver, next.step == number { next.action = action }
        return next.isOver
      }
      if isOver { action.cancel() }
    }
  }
}
