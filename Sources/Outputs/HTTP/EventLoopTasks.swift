import NIOCore

/// Runs tasks on the thread of an event loop: what serves a connection then never waits for another thread, and Swift's own
/// thread pool, whose housekeeping wakes a process once a second for ever, is not started.
final class EventLoopTasks: TaskExecutor {
  private let loop: any EventLoop

  init(_ loop: any EventLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
