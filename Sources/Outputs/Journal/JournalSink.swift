import CLinux
import Glibc
import Publishing

/// Takes log lines and passes them to a writer: to the journal with their fields when the process runs under it, as
/// readable lines otherwise.
///
/// Callers never wait. Lines that are not taken are kept, up to `LogQueue`'s limits; a line reports those that were
/// lost beyond them once lines are taken again.
public struct JournalSink: Sendable {
  public enum Priority: Int32, Sendable {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
    case debug = 7

    /// Something is wrong: the last to be dropped.
    var isFault: Bool { rawValue <= Priority.warning.rawValue }
  }

  /// One of the journal's own fields.
  public struct Field: Sendable {
    /// Upper case, without a leading underscore: `SENSORHUB_DEVICE`.
    public var name: String
    public var value: String

    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  private let writer: LogWriter
  private let tap = LogTap()

  /// The journal only where systemd connected standard error to it; a terminal or a file gets lines.
  public init() {
    self.init(to: JournalSink.standardErrorIsJournal ? SystemJournal() : LogLines(descriptor: STDERR_FILENO))
  }

  init(to destination: any LogDestination) { writer = LogWriter(to: destination) }

  public func write(_ priority: Priority, _ message: String, fields: [Field] = []) {
    let entry = LogEntry(priority, message, fields: fields)
    writer.write(entry)
    tap.send(entry)
  }

  /// Sends each line to an observer when it is logged, on the thread that logs it.
  func observe(_ receive: @escaping @Sendable (LogEntry) -> Void) -> Subscription { tap.observe(receive) }

  /// Waits until all lines have been written, but no longer than `limit`: for a process that is about to end.
  ///
  /// - Returns: whether they were
  @discardableResult
  public func flush(within limit: Duration) -> Bool { writer.flush(within: limit) }

  /// `JOURNAL_STREAM` names the device and inode of the stream that systemd gave the service.
  private static var standardErrorIsJournal: Bool {
    guard let stream = getenv("JOURNAL_STREAM") else { return false }
    var status = stat()
    guard fstat(STDERR_FILENO, &status) == 0 else { return false }
    return String(cString: stream) == "\(status.st_dev):\(status.st_ino)"
  }
}
