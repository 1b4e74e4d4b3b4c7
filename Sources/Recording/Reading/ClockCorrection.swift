import MCAP
import NMEA

/// By how much the clock of a recording was wrong.
///
/// Log times follow the system clock of when the recording began, which on a board without a clock of its own may be hours
/// off. Where a receiver has told the time they are corrected by it: the times that people give, and get, are right.
public enum ClockCorrection {
  /// A smaller difference is the delay of a state between the receiver and the recording.
  private static let leastNanoseconds: UInt64 = 1_000_000_000
  /// States at the beginning of a file among which a look finds the time that a receiver has told: half a minute's.
  private static let stateCountOfLook = 300

  /// The difference between a receiver's time and the log times; `nil` if no receiver has stated the time.
  public static func nanoseconds(
    of reader: MCAPReader<MCAPFileSource>, path: String
  ) throws(RecordingError) -> Int64? {
    let channels = reader.summary.channelIDs(ofTopics: ["/state"])
    guard !channels.isEmpty else { return nil }
    var states = reader.messages(channelIDs: channels)
    while true {
      do throws(MCAPError) {
        guard let message = try states.next() else { return nil }
        if let correction = nanoseconds(by: message) { return correction }
      } catch {
        if case .system = error { throw .unreadable(path: path, error) }
      }
    }
  }

  /// The same, by the beginning and the end of a file: if no receiver has stated the time, the whole file would be read
  /// without result.
  static func glimpsed(in reader: MCAPReader<MCAPFileSource>) -> Int64? {
    let channels = reader.summary.channelIDs(ofTopics: ["/state"])
    guard !channels.isEmpty else { return nil }
    var first = reader.messages(channelIDs: channels)
    for _ in 0..<stateCountOfLook {
      guard let message = try? first.next() else { break }
      if let correction = nanoseconds(by: message) { return correction }
    }
    let last = reader.summary.chunks.last { chunk in
      chunk.channels.contains { channels.contains($0.channelID) }
    }
    // A damaged file may contain any number.
    guard let last, last.startTimeNanoseconds <= last.endTimeNanoseconds, last.endTimeNanoseconds < .max
    else { return nil }
    var states = reader.messages(in: last.startTimeNanoseconds..<last.endTimeNanoseconds + 1, channelIDs: channels)
    while let message = try? states.next() {
      if let correction = nanoseconds(by: message) { return correction }
    }
    return nil
  }

  private static func nanoseconds(by message: MCAPMessage) -> Int64? {
    guard let state = RecordedState(message.data), state.isTimeConfirmed, let time = state.time else { return nil }
    let difference = time.nanosecondsSince1970.clampedSum(-Int64(clamping: message.logTimeNanoseconds))
    // No clock is a century off.
    guard difference.magnitude < 3_000_000_000_000_000_000 else { return nil }
    return difference.magnitude < leastNanoseconds ? 0 : difference
  }
}
