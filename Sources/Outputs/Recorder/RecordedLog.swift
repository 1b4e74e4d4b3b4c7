import CLinux
import MonotonicTime
import Recording

/// Records the lines of the log. They do not start a file, but wait until other data is written.
struct RecordedLog {
  private let channel: RecordedJSON
  private let clock: any MonotonicTimeSource

  init(in inbox: RecordInbox, clock: any MonotonicTimeSource) {
    channel = RecordedJSON("/log", .log, in: inbox)
    self.clock = clock
  }

  func append(_ entry: LogEntry) {
    channel.append(at: clock.now, isWritten: false) { json in
      json.beginObject()
      json.timestamp(nanosecondsSince1970: UInt64(clamping: clinux_realtime_ns()))
      json.member("level", RecordedLog.level(entry.priority))
      json.member("message", entry.message)
      json.member("name", entry.fields.first { $0.name == "SENSORHUB_DEVICE" }?.value ?? "sensorhub")
      json.endObject()
    }
  }

  private static func level(_ priority: JournalSink.Priority) -> Int {
    switch priority {
    case .debug: 1
    case .info, .notice: 2
    case .warning: 3
    case .error: 4
    }
  }
}
