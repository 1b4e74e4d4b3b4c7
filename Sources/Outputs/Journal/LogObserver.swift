import Guarding
import Publishing

/// Who hears each line of the log as it is said.
final class LogObserver: Sendable {
  let receive: @Sendable (LogEntry) -> Void

  init(_ receive: @escaping @Sendable (LogEntry) -> Void) { self.receive = receive }
}

/// The observer of a log, if it has one.
final class LogTap: Sendable {
  private let observer = Guarded<LogObserver?>(nil)

  func observe(_ receive: @escaping @Sendable (LogEntry) -> Void) -> Subscription {
    let new = LogObserver(receive)
    observer.withLock { $0 = new }
    return Subscription { [self] in observer.withLock { if $0 === new { $0 = nil } } }
  }

  func send(_ entry: LogEntry) { observer.withLock { $0 }?.receive(entry) }
}
