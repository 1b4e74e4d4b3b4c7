import MCAP

/// The format of recordings for a replay. Its number is in the metadata `sensorhub`. The number grows when a replay
/// needs data that older recordings lack.
///
/// Format 2 added the inputs of the fusion with their instants; format 3 added stated headings. Recordings without a
/// number have only the measurements, which do not show the order in which they were fused.
public enum RecordingFormat {
  public static let current = 3
  /// The key of the number in the metadata.
  public static let key = "format"

  /// Whether a recording has an older format, or no number.
  public static func isOlder(_ reader: MCAPReader<MCAPFileSource>) -> Bool {
    let number = RecordedMessages.facts(named: "sensorhub", of: reader)[key].flatMap { Int($0) }
    return (number ?? 1) < current
  }
}
