import Guarding
import Publishing

/// Observes each line of the log when it is logged.
final class LogObserver: Sendable {
  let receive: @Sendable (LogEntry) -> Void

  init(_ receive: @escaping @Sendable (LogEntry) -> Void) { self.receive = receive }
}

/// The observers of a log.
final class LogSubject: Sendable {
  private let observers = Guarded<[LogObserver]>([])

  func observe(_ receive: @escaping @Sendable (LogEntry) -> Void) -> Subscription {
    let new = LogObserver(receive)
    observers.withLock { $0.append(new) }
    return Subscription { [self] in observers.withLock { $0.removeAll { $0 === new } } }
  }

  func send(_ entry: LogEntry) {
    for observer in observers.withLock({ $0 }) { observer.receive(entry) }
  }
}
