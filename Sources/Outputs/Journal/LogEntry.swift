import Glibc

/// A line of the log on its way, with the time at which it was said.
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

  /// Its size while it waits, in bytes.
  var size: Int { fields.reduce(message.utf8.count + 64) { $0 + $1.name.utf8.count + $1.value.utf8.count } }
}
