import CLinux
import Glibc
import MCAP
import NMEA
import Outputs
import Recording

/// The contents of one file of a recording, or of several.
struct RecordingContents {
  struct Channel {
    var messageEncodings: Set<String> = []
    var intervals = MessageIntervals()

  }

  /// Whether a topic's messages are written only when something happens, so that they have no rate and no pauses.
  private static func isOfEvents(_ topic: String) -> Bool {
    ["/power", "/log", "/fusion", "/clock"].contains(topic)
  }

  var byteCount: UInt64 = 0
  var channels: [String: Channel] = [:]
  private(set) var messageCount: UInt64 = 0
  /// The start in UTC, corrected by a receiver's time if the recording has one.
  private(set) var start: UTCTime?
  private(set) var end: UTCTime?

  /// Call this before the messages of each file are added.
  mutating func beginFile() {
    for topic in channels.keys { channels[topic]?.intervals.beginFile() }
  }

  mutating func add(_ channel: MCAPChannel) {
    channels[channel.topic, default: Channel()].messageEncodings.insert(channel.messageEncoding)
  }

  mutating func add(topic: String, logTimeNanoseconds: UInt64, time: UTCTime) {
    messageCount += 1
    channels[topic, default: Channel()].intervals.add(logTimeNanoseconds: logTimeNanoseconds)
    start = start.map { min($0, time) } ?? time
    end = end.map { max($0, time) } ?? time
  }

  var durationSeconds: Double {
    guard let start, let end else { return 0 }
    // Computed with `Double`, because a damaged file may contain differences beyond the range of integers.
    return (Double(end.nanosecondsSince1970) - Double(start.nanosecondsSince1970)) / 1e9
  }

  // MARK: As text

  var lines: [String] {
    var lines = [
      "  from      \(RecordingContents.text(start))", "  to        \(RecordingContents.text(end))",
      "  duration  \(Text.duration(seconds: durationSeconds))", "  size      \(RecordingContents.size(byteCount))",
      "  messages  \(messageCount)",
    ]
    let rows = [["topic", "messages", "rate", "longest pause", "pauses"]] + topics.map(columns)
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    for row in rows {
      let padded = zip(row, widths).dropLast().map { Text.padded($0, $1) }
      let line = "  " + (padded + row.suffix(1)).joined(separator: "  ")
      lines.append(String(line.dropLast(line.reversed().prefix { $0 == " " }.count)))
    }
    return lines
  }

  /// A time in UTC, as in names and options, followed by the local time.
  private static func text(_ time: UTCTime?) -> String {
    guard let time else { return "" }
    return UTCText.make(time) + (LocalTime.text(time).map { " (here \($0))" } ?? "")
  }

  private var topics: [String] { channels.keys.sorted() }

  private func columns(_ topic: String) -> [String] {
    guard let channel = channels[topic] else { return [] }
    let intervals = channel.intervals
    let isOfEvents = RecordingContents.isOfEvents(topic)
    let rate = isOfEvents ? nil : intervals.meanRateHz.map { "\(Text.fixed($0, $0 < 10 ? 2 : 1)) Hz" }
    let hasPauses = !isOfEvents && intervals.count > 1
    return [
      Text.printable(topic), "\(intervals.count)", rate ?? "",
      hasPauses ? Text.duration(seconds: intervals.longestPauseSeconds) : "",
      hasPauses ? "\(intervals.pauseCount)" : "",
    ]
  }

  static func size(_ byteCount: UInt64) -> String {
    byteCount < 100_000 ? "\(byteCount) bytes" : "\(Text.fixed(Double(byteCount) / 1e6, 1)) MB"
  }

  // MARK: As JSON

  /// Writes the members of an object that has begun.
  func write(to json: inout JSONWriter) {
    json.member("from", start.map(UTCText.make))
    json.member("to", end.map(UTCText.make))
    json.member("durationSeconds", durationSeconds, decimals: 3)
    json.member("bytes", Int(clamping: byteCount))
    json.member("messages", Int(clamping: messageCount))
    json.key("channels")
    json.beginArray()
    for topic in topics {
      guard let channel = channels[topic] else { continue }
      json.beginObject()
      json.member("topic", topic)
      json.member("messageEncoding", channel.messageEncodings.sorted().joined(separator: " "))
      json.member("messages", Int(clamping: channel.intervals.count))
      if !RecordingContents.isOfEvents(topic) {
        json.member("rateHz", channel.intervals.meanRateHz, decimals: 3)
        if channel.intervals.count > 1 {
          json.member("longestPauseSeconds", channel.intervals.longestPauseSeconds, decimals: 3)
          json.member("pauses", channel.intervals.pauseCount)
        }
      }
      json.endObject()
    }
    json.endArray()
  }
}

/// Formats times in this machine's time zone.
enum LocalTime {
  /// The local time, for example `2026-11-22 11:00:05 +01:00`; `nil` if it equals UTC.
  static func text(_ time: UTCTime) -> String? {
    var seconds = time_t(time.nanosecondsSince1970 / 1_000_000_000)
    var parts = tm()
    guard localtime_r(&seconds, &parts) != nil, parts.tm_gmtoff != 0 else { return nil }
    func two(_ value: Int) -> String { (value < 10 ? "0" : "") + "\(value)" }
    let day = "\(Int(parts.tm_year) + 1900)-\(two(Int(parts.tm_mon) + 1))-\(two(Int(parts.tm_mday)))"
    let clock = "\(two(Int(parts.tm_hour))):\(two(Int(parts.tm_min))):\(two(Int(parts.tm_sec)))"
    let minutes = abs(parts.tm_gmtoff) / 60
    let offset = "\(parts.tm_gmtoff < 0 ? "-" : "+")\(two(minutes / 60)):\(two(minutes % 60))"
    return "\(day) \(clock) \(offset)"
  }
}
