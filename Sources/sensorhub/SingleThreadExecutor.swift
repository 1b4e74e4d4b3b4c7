import Guarding
import Publishing

/// Runs Swift's tasks on one thread of its own, which sleeps until there is something to do.
///
/// The default executor is Dispatch's thread pool, whose housekeeping wakes the process once a second for ever. The few
/// tasks of a hub only start, wait and stop services; everything that takes time has a thread of its own.
final class SingleThreadExecutor: TaskExecutor {
  static let shared = SingleThreadExecutor()

  private struct State {
    var jobs: [UnownedJob] = []
    var isRunning = false
  }

  private let state = Guarded(State())
  private let wake = WakeSignal()

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let mustStart = state.withLock { state in
      state.jobs.append(job)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if mustStart { precondition(DetachedThread.start("tasks", { self.run() }) == 0, "no thread for tasks") }
    wake.raise()
  }

  private func run() {
    while true {
      wake.wait()
      let jobs = state.withLock { state in
        defer { state.jobs = [] }
        return state.jobs
      }
      for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
  }
}
