import DequeModule
import Guarding
import MonotonicTime
import NIOCore

/// Runs tasks on the thread of an event loop. Serving a connection then never waits for another thread. It also
/// avoids Swift's own thread pool, whose housekeeping wakes a process once a second for ever.
///
/// An event loop looks at its sockets only when it has no other work. If tasks arrived faster than the loop completes
/// them, it would never look at its sockets: no other client could connect, and the hub would not notice a client that
/// left. Therefore the loop checks its sockets after each time slice of tasks.
final class EventLoopTasks: TaskExecutor {
  /// The slice is long compared with the time to check the sockets, and short for a client that waits to connect.
  private static let slice = Duration.milliseconds(5)
  /// The loop checks its sockets whenever its next work is in the future, so this short delay is enough.
  private static let pause = TimeAmount.microseconds(50)

  private struct State {
    var jobs = Deque<UnownedJob>()
    /// Whether the loop will run the tasks, or is running them.
    var isScheduled = false
  }

  private let loop: any EventLoop
  private let clock = MonotonicClock()
  private let state = Guarded(State())

  init(_ loop: any EventLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isFirst = state.withLock { state in
      state.jobs.append(job)
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if isFirst { loop.execute { self.run() } }
  }

  private func run() {
    let end = clock.now + EventLoopTasks.slice
    repeat {
      guard let job = next() else { return }
      job.runSynchronously(on: asUnownedTaskExecutor())
    } while clock.now < end
    loop.scheduleTask(in: EventLoopTasks.pause) { self.run() }
  }

  private func next() -> UnownedJob? {
    state.withLock { state in
      let job = state.jobs.popFirst()
      if job == nil { state.isScheduled = false }
      return job
    }
  }
}
