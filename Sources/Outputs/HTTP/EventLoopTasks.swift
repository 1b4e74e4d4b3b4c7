import DequeModule
import Guarding
import MonotonicTime
import NIOCore

/// Runs tasks on the thread of an event loop: serving a connection then never waits for another thread, and Swift's own
/// thread pool, whose housekeeping wakes a process once a second for ever, is not started.
///
/// An event loop looks at its sockets only when it has nothing else to do. Tasks that come faster than it completes
/// them would prevent that for ever: no other client could connect, and a client that has left would not be noticed. So
/// they get the loop for a slice of time, after which the sockets have their turn.
final class EventLoopTasks: TaskExecutor {
  /// Long compared with the cost of a look at the sockets, short for a client that waits to connect.
  private static let slice = Duration.milliseconds(5)
  /// The loop's sockets have their turn where its next work lies ahead, however little.
  private static let pause = TimeAmount.microseconds(50)

  private struct State {
    var jobs = Deque<UnownedJob>()
    /// The loop has been asked to run them, or is at it.
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
