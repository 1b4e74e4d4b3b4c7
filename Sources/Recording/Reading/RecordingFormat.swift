import MCAP

/// What a recording has for a replay. The number is among the metadata `sensorhub`, and grows when a replay needs something that
/// older recordings lack.
///
/// 2: the inputs of the fusion with their instants; 3: with stated headings. Recordings without a number have the measurements alone, from which it does not
/// follow in which order they were fused.
public enum RecordingFormat {
  public static let current = 3
  /// The name of the entry.
  public static let key = "format"

  /// Whether a recording is of an older format, or of a program that says nothing of it.
  public static func isOlder(_ reader: MCAPReader<MCAPFileSource>) -> Bool {
    let number = RecordedMessages.facts(named: "sensorhub", of: reader)[key].flatMap { Int($0) }
    return (number ?? 1) < current
  }
}
