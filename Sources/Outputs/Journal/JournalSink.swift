import CLinux
import CSystemd
import Glibc

/// Writes log lines: to the journal with their fields when the process runs under it, as readable lines otherwise.
public struct JournalSink: Sendable {
  public enum Priority: Int32, Sendable {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
    case debug = 7
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

  private let isNative: Bool

  /// Native only where systemd connected standard error to the journal; a terminal or a file gets lines.
  public init() { isNative = JournalSink.standardErrorIsJournal }

  public func write(_ priority: Priority, _ message: String, fields: [Field] = []) {
    isNative ? send(priority, message, fields) : print(priority, message)
  }

  private func send(_ priority: Priority, _ message: String, _ fields: [Field]) {
    let entries =
      ["PRIORITY=\(priority.rawValue)", "MESSAGE=\(message)", "SYSLOG_IDENTIFIER=sensorhub"]
      + fields.map { "\($0.name)=\($0.value)" }
    let storage = entries.map { Array($0.utf8) }
    // The vectors point into `storage`'s one flat copy, which outlives the call.
    let flat = Array(storage.joined())
    flat.withUnsafeBytes { bytes in
      var offset = 0
      let vectors = storage.map { entry in
        defer { offset += entry.count }
        return iovec(
          iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress?.advanced(by: offset)), iov_len: entry.count)
      }
      _ = sd_journal_sendv(vectors, Int32(vectors.count))
    }
  }

  private func print(_ priority: Priority, _ message: String) {
    let mark =
      switch priority {
      case .error: "error: "
      case .warning: "warning: "
      case .notice, .info, .debug: ""
      }
    let line = Array("\(JournalSink.timeOfDay()) \(mark)\(message)\n".utf8)
    _ = line.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  /// Local time, as people read a terminal.
  private static func timeOfDay() -> String {
    var now = time(nil)
    var parts = tm()
    localtime_r(&now, &parts)
    func two(_ value: Int32) -> String { (value < 10 ? "0" : "") + "\(value)" }
    return "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
  }

  /// `JOURNAL_STREAM` names the device and inode of the stream that systemd gave the service.
  private static var standardErrorIsJournal: Bool {
    guard let stream = getenv("JOURNAL_STREAM") else { return false }
    var status = stat()
    guard fstat(STDERR_FILENO, &status) == 0 else { return false }
    return String(cString: stream) == "\(status.st_dev):\(status.st_ino)"
  }
}
