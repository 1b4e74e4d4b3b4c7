import Guarding
import MonotonicTime

/// Steps that may hang, each on its own thread. The caller waits for the steps only until a deadline, and continues
/// without the steps that have not returned.
final class BoundedSteps<Result: Sendable>: Sendable {
  private struct State {
    var results: [Int: Result] = [:]
    var startedCount = 0
    var isTimeOver = false

    var isDone: Bool { results.count == startedCount }
  }

  private let clock: any MonotonicTimeSource
  private let state = Guarded(State())
  private let news = WakeSignal()

  init(clock: any MonotonicTimeSource) { self.clock = clock }

  /// - Parameters:
  ///   - number: identifies the step among the results
  ///   - name: the name of the thread
  func start(_ number: Int, _ name: String, _ step: @escaping @Sendable () -> Result) {
    state.withLock { $0.startedCount += 1 }
    let run: @Sendable () -> Void = { [self] in
      let result = step()
      state.withLock { $0.results[number] = result }
      news.raise()
    }
    // If no descriptor or thread can be created, the step runs on this thread.
    if news.fileDescriptor < 0 || DetachedThread.start(name, run) != 0 { run() }
  }

  /// Waits until all started steps have returned, at most until the deadline.
  ///
  /// - Returns: the results of the returned steps, by number
  func results(until deadline: MonotonicInstant) -> [Int: Result] {
    state.withLock { $0.isTimeOver = false }
    let timer = clock.schedule(at: deadline) { [self] in
      state.withLock { $0.isTimeOver = true }
      news.raise()
    }
    defer { timer.cancel() }
    while !state.withLock({ $0.isDone || $0.isTimeOver }) { news.wait() }
    return state.withLock { $0.results }
  }
}
