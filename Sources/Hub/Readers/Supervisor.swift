import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// Notices hanging readers, from a separate thread. `SupervisorMachine` decides by the stamps of the readers' pollers.
///
/// It checks once a second while a device is awake, and otherwise not at all, so that an idle hub has no timer.
public final class Supervisor: Sendable {
  private struct Watch {
    let progress: ReaderProgress
    let onStuck: Callback
  }

  private struct State {
    var machine = SupervisorMachine()
    var watches: [Int: Watch] = [:]
    var lastNumber = 0
    var isLooking = false
  }

  private static let interval = Duration.seconds(1)

  /// The clock for limits on waits for readers that may hang.
  let clock: any MonotonicTimeSource
  private let state = Guarded(State())
  private let alarm: Alarm

  /// - Parameter clock: the kernel's clock, because readers hang in the kernel; a test may pass another one
  public init(clock: any MonotonicTimeSource = MonotonicClock()) {
    self.clock = clock
    alarm = Alarm(clock: clock)
  }

  deinit { alarm.end() }

  /// Whether a reader still hangs although its supply was cut. The process should then be restarted.
  public var isHopeless: Bool { state.withLock { $0.machine.isHopeless(clock.now) } }

  /// Watches a reader until the subscription ends.
  ///
  /// - Parameters:
  ///   - patience: how long its thread may stay outside its poller
  ///   - onStuck: called once, on the timers' thread, when it stays longer
  func watch(
    _ progress: ReaderProgress, patience: Duration, onStuck: @escaping @Sendable () -> Void
  ) -> Subscription {
    let (number, mustLook) = state.withLock { state -> (Int, Bool) in
      state.lastNumber += 1
      let number = state.lastNumber
      state.watches[number] = Watch(progress: progress, onStuck: Callback(onStuck))
      state.machine.begin(number, patience: patience, stepCount: progress.stepCount, clock.now)
      defer { state.isLooking = true }
      return (number, !state.isLooking)
    }
    if mustLook { lookLater() }
    return Subscription { [self] in end(number) }
  }

  private func end(_ number: Int) {
    let isLast = state.withLock { state in
      _ = state.machine.end(number)
      state.watches[number] = nil
      guard state.machine.isEmpty, state.isLooking else { return false }
      state.isLooking = false
      return true
    }
    if isLast { stopLooking() }
  }

  private func lookLater() {
    alarm.set(at: clock.now + Supervisor.interval) { [weak self] in self?.look() }
    // The last reader may have ended before the alarm was set.
    if !state.withLock({ $0.isLooking }) { stopLooking() }
  }

  private func stopLooking() {
    alarm.cancel()
    // The next reader may have begun before the alarm was cancelled.
    if state.withLock({ $0.isLooking }) { lookLater() }
  }

  private func look() {
    let (stuck, mustLook) = state.withLock { state -> ([Callback], Bool) in
      let watches = state.watches
      let effects = state.machine.look(
        clock.now, waitLimit: { watches[$0]?.progress.waitLimit }, stepCount: { watches[$0]?.progress.stepCount })
      let stuck = effects.compactMap { effect -> Callback? in
        if case .stuck(let number) = effect { watches[number]?.onStuck } else { nil }
      }
      return (stuck, state.isLooking)
    }
    for callback in stuck { callback() }
    if mustLook { lookLater() }
  }
}
