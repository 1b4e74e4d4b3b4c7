import MCAP

/// The metadata about a recording's origin, with the time from which it applies, because the board file may change
/// during a recording. MCAP's metadata records have no time, so the time is an entry of each record.
public struct RecordedFacts: Equatable, Sendable {
  private static let since = "sinceLogTimeNanoseconds"

  /// The log time from which the facts apply; `nil` if the recording does not state it. The last facts of such a
  /// recording always apply.
  public var sinceNanoseconds: UInt64?
  private var entries: [String: [String: String]] = [:]

  public init() {}

  /// The entries of a metadata record; empty if there is no such record.
  public subscript(name: String) -> [String: String] { entries[name] ?? [:] }

  /// The facts of a file, in the order of their times.
  public static func all(of reader: MCAPReader<MCAPFileSource>) -> [RecordedFacts] {
    var all: [RecordedFacts] = []
    for index in reader.summary.metadata {
      guard var record = try? reader.metadata(index) else { continue }
      let time = record.entries.removeValue(forKey: since).flatMap { UInt64($0) }
      // Records with the same time belong together. A fact that is not repeated at a later time no longer applies.
      if all.last.map({ $0.sinceNanoseconds != time }) ?? true {
        all.append(RecordedFacts())
        all[all.count - 1].sinceNanoseconds = time
      }
      all[all.count - 1].entries[record.name] = record.entries
    }
    return all
  }

  /// Metadata records with the time from which they apply.
  static func records(_ facts: [MCAPMetadata], sinceNanoseconds time: UInt64) -> [MCAPMetadata] {
    facts.map { record in
      var record = record
      record.entries[since] = "\(time)"
      return record
    }
  }
}

extension [RecordedFacts] {
  /// The facts at a log time, or the first ones if none apply yet, and the log time from which the next ones apply.
  public func holding(atNanoseconds logTime: UInt64) -> (facts: RecordedFacts, until: UInt64) {
    let holding = lastIndex { $0.sinceNanoseconds.map { $0 <= logTime } ?? true } ?? 0
    let next = dropFirst(holding + 1).first?.sinceNanoseconds
    return (indices.contains(holding) ? self[holding] : RecordedFacts(), next ?? .max)
  }
}

/// The format of recordings for a replay. Its number is in the metadata `sensorhub`. The number grows when a replay
/// needs data that older recordings lack.
///
/// Format 2 added the inputs of the fusion with their instants; format 3 added stated headings. Recordings without a
/// number have only the measurements, which do not show the order in which they were fused.
///
/// Expiries came later and did not change the number. A replay of a recording without them only lacks the states that
/// they make.
public enum RecordingFormat {
  public static let current = 3
  /// The key of the format's number in the metadata.
  public static let key = "format"

  /// Whether a recording has an older format, or no number.
  public static func isOlder(_ reader: MCAPReader<MCAPFileSource>) -> Bool {
    let number = RecordedMessages.facts(named: "sensorhub", of: reader)[key].flatMap { Int($0) }
    return (number ?? 1) < current
  }
}
