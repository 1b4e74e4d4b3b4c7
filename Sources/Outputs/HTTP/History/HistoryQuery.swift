import CLinux
import Hub
import Hummingbird
import NMEA
import Recording

/// The time span of a request, and the amount of data that it requests.
struct HistoryQuery {
  private static let hour: Int64 = 3_600_000_000_000

  var times: Range<UTCTime>
  /// The shortest interval between two states, in seconds; 0 for all states.
  var everySeconds: Double
  /// The track omits points within this distance of its line, in metres.
  var simplifyMetres: Double
  var limit: Int
  /// The end of the previous page.
  var after: RecordingCursor?
  /// `everySeconds`, as the request spells it.
  private var every: Substring

  /// - Parameters:
  ///   - now: nanoseconds since 1970
  ///   - everySeconds: the interval if the request names none
  ///   - limit: the maximum number of entries on a page
  init(_ request: Request, now: Int64, everySeconds: Substring, limit most: Int) throws {
    let to = try HTTPQuery.instant("to", of: request) ?? UTCTime(nanosecondsSince1970: now)
    let from =
      try HTTPQuery.instant("from", of: request)
      ?? UTCTime(nanosecondsSince1970: max(0, to.nanosecondsSince1970 - HistoryQuery.hour))
    guard from < to else { throw HTTPError(.badRequest, message: "'from' must be before 'to'") }
    times = from..<to
    every = try HTTPQuery.text("every", of: request) ?? everySeconds
    self.everySeconds = try HTTPQuery.number("every", of: request, in: 0...86_400) ?? Double(everySeconds) ?? 0
    simplifyMetres = try HTTPQuery.number("simplify", of: request, in: 0...100_000) ?? 0
    let limit = try HTTPQuery.number("limit", of: request, in: 1...Double(most)) ?? Double(most)
    guard limit == limit.rounded() else {
      throw HTTPError(.badRequest, message: "'limit' must be a whole number")
    }
    self.limit = Int(limit)
    after = try HTTPQuery.text("after", of: request).map { text in
      guard let cursor = RecordingCursor(text) else {
        throw HTTPError(.badRequest, message: "'after' is only for pages that 'next' names")
      }
      return cursor
    }
  }

  /// The query for the page that begins after this cursor.
  func query(after cursor: RecordingCursor) -> String {
    "from=\(HistoryQuery.text(times.lowerBound))&to=\(HistoryQuery.text(times.upperBound))&every=\(every)"
      + "&limit=\(limit)&after=\(cursor.text)"
  }

  func query(from time: UTCTime) -> String {
    "from=\(HistoryQuery.text(time))&to=\(HistoryQuery.text(times.upperBound))&limit=\(limit)"
  }

  /// Seconds since 1970 with all nanoseconds, so that the next page covers exactly the same time span.
  private static func text(_ time: UTCTime) -> String {
    let nanoseconds = String(time.nanosecondsSince1970 % 1_000_000_000)
    let padding = String(repeating: "0", count: 9 - nanoseconds.utf8.count)
    return "\(time.nanosecondsSince1970 / 1_000_000_000).\(padding)\(nanoseconds)"
  }
}

extension HTTPQuery {
  /// Parses `2026-11-22T10:00:00Z`, or seconds since 1970.
  static func instant(_ name: Substring, of request: Request) throws -> UTCTime? {
    guard let text = try text(name, of: request) else { return nil }
    var copy = String(text)
    if let time = copy.withUTF8({ UTCText.read($0) }), time.nanosecondsSince1970 >= 0 { return time }
    if decimal(text) != nil, let time = seconds(text) { return time }
    throw HTTPError(
      .badRequest, message: "'\(name)' must be a time in UTC, such as 2026-11-22T10:00:00Z, or seconds since 1970")
  }

  /// Parses seconds to a nanosecond; a `Double` would be wrong by some hundred nanoseconds.
  private static func seconds(_ text: Substring) -> UTCTime? {
    let parts = text.split(separator: ".")
    // The limit is in the year 2255. Nanoseconds since 1970 fit into 64 bits until then.
    guard let whole = Int64(parts[0]), whole <= 9_000_000_000 else { return nil }
    let digits = parts.count > 1 ? parts[1].prefix(9) : ""
    guard let fraction = Int64(digits + String(repeating: "0", count: 9 - digits.count)) else { return nil }
    return UTCTime(nanosecondsSince1970: whole * 1_000_000_000 + fraction)
  }
}
