import Guarding
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
    LazyPublisher<Output, Failure>(deriving: subscriber.holders.label) { [self] (run) throws(Failure) in
      let player = Player(recording: self, run: run, clock: clock)
      player.play(from: 0)
      return Subscription { player.stop() }
    }.attach(subscriber)
  }

  /// One playback. Each entry schedules the next.
  private final class Player: Sendable {
    private let recording: Recording
    private let run: Activating<Output, Failure>
    private let clock: any MonotonicTimeSource
    private let start: MonotonicInstant
    private let next = Guarded(Next())

    private struct Next: Sendable {
      var action: ScheduledAction?
      /// Counts the steps: one that is due at once is done, and the step after it scheduled, before it is noted here.
      var step = 0
      var isOver = false
    }

    init(recording: Recording, run: Activating<Output, Failure>, clock: any MonotonicTimeSource) {
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
