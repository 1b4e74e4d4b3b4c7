import MCAP

/// The format of recordings for a replay. The number is in the metadata `sensorhub`, and grows when a replay needs
/// something that older recordings lack.
///
/// 2 added the inputs of the fusion with their instants; 3 added stated headings. Recordings without a number have only
/// the measurements, which do not show the order in which they were fused.
public enum RecordingFormat {
  public static let current = 3
  /// The name of the metadata entry.
  public static let key = "format"

  /// Whether a recording has an older format, or states none.
  public static func isOlder(_ reader: MCAPReader<MCAPFileSource>) -> Bool {
    let number = RecordedMessages.facts(named: "sensorhub", of: reader)[key].flatMap { Int($0) }
    return (number ?? 1) < current
  }
}
