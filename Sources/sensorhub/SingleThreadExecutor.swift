import Guarding
import Publishing
import ServiceLifecycle

/// Runs Swift's tasks on one separate thread, which sleeps while there is no task to run.
///
/// The default executor is Dispatch's thread pool, whose housekeeping wakes the process once a second forever. The few
/// tasks of a hub only start, stop and wait for services; work that takes time has its own threads.
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
    state.withLock { $0.jobs.append(job) }
    // The main program has already started the thread, and would have ended if that had failed.
    _ = start()
    wake.raise()
  }

  /// Starts the thread, unless it runs already.
  ///
  /// - Returns: 0, or the error number if the system cannot start a thread
  func start() -> Int32 {
    let mustStart = state.withLock { state in
      defer { state.isRunning = true }
      return !state.isRunning
    }
    guard mustStart else { return 0 }
    let error = DetachedThread.start("tasks") { self.run() }
    if error != 0 { state.withLock { $0.isRunning = false } }
    return error
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

extension ServiceGroup {
  /// Ends the services, from any thread. Returns at once.
  ///
  /// The task runs on the thread of all tasks. A task without this preference would need one of Dispatch's threads,
  /// and the system may have no thread left.
  nonisolated func triggersShutdown() {
    Task(executorPreference: SingleThreadExecutor.shared) { await self.triggerGracefulShutdown() }
  }
}
