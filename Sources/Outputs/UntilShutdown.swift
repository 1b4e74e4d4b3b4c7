import ServiceLifecycle

/// Waits until the service that runs in this task must end, or until the task is cancelled.
///
/// The lifecycle library's `gracefulShutdown()` continues in a new task on Dispatch's threads. While the system has no
/// thread left, that task would not run, and a signal would not end the hub. This function continues in the same task.
public func untilShutdown() async {
  let (requests, request) = AsyncStream.makeStream(of: Void.self)
  await withGracefulShutdownHandler {
    for await _ in requests {}
  } onGracefulShutdown: {
    request.finish()
  }
}
