import Glibc

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
