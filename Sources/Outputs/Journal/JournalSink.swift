import CLinux
import Glibc
import Guarding
import Publishing

/// Passes log lines to a writer. Under systemd they go to the journal with their fields, otherwise to standard error as
/// readable lines.
///
/// Callers never wait. Unwritten lines are kept, up to the limits of `LogQueue`. If lines were lost, a line reports
/// their number once writing works again.
public struct JournalSink: Sendable {
  public enum Priority: Int32, Sendable {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
    case debug = 7

    /// Whether the line reports a fault. Such lines are dropped last.
    var isFault: Bool { rawValue <= Priority.warning.rawValue }
  }

  /// A field that the journal stores with a line, so that users can search for it.
  public struct Field: Sendable {
    /// The name in upper case, without a leading underscore: `SENSORHUB_DEVICE`.
    public var name: String
    public var value: String

    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  private let writer: LogWriter
  private let subject = LogSubject()

  /// Uses the journal only if systemd connected standard error to it; a terminal or a file gets readable lines.
  public init() {
    self.init(to: JournalSink.standardErrorIsJournal ? SystemJournal() : LogLines(descriptor: STDERR_FILENO))
  }

  init(to destination: any LogDestination) { writer = LogWriter(to: destination) }

  public func write(_ priority: Priority, _ message: String, fields: [Field] = []) {
    let entry = LogEntry(priority, message, fields: fields)
    writer.write(entry)
    subject.send(entry)
  }

  /// Sends each line to an observer when it is logged, on the thread that logs it.
  func observe(_ receive: @escaping @Sendable (LogEntry) -> Void) -> Subscription { subject.observe(receive) }

  /// Waits until all lines have been written, but no longer than `limit`. Call this before a process ends.
  ///
  /// - Returns: whether all lines have been written
  @discardableResult
  public func flush(within limit: Duration) -> Bool { writer.flush(within: limit) }

  /// Whether standard error is the journal. `JOURNAL_STREAM` names the device and inode of the stream that systemd gave
  /// the service.
  private static var standardErrorIsJournal: Bool {
    guard let stream = getenv("JOURNAL_STREAM") else { return false }
    var status = stat()
    guard fstat(STDERR_FILENO, &status) == 0 else { return false }
    return String(cString: stream) == "\(status.st_dev):\(status.st_ino)"
  }
}

/// A log line with its time, on the way to the destination.
struct LogEntry: Sendable {
  var at: time_t
  var priority: JournalSink.Priority
  var message: String
  var fields: [JournalSink.Field]

  init(_ priority: JournalSink.Priority, _ message: String, fields: [JournalSink.Field] = [], at: time_t = time(nil)) {
    self.at = at
    self.priority = priority
    self.message = message
    self.fields = fields
  }

  /// The estimated size of the waiting line, in bytes.
  var size: Int { fields.reduce(message.utf8.count + 64) { $0 + $1.name.utf8.count + $1.value.utf8.count } }
}

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
