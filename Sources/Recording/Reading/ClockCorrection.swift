import MCAP
import NMEA

/// The error of a recording's clock.
///
/// Log times begin with the system clock's time at the beginning of the recording, and advance with the monotonic
/// clock. On a board without a real-time clock, the system clock may be wrong by hours. If a receiver has reported the
/// time, log times are corrected by it, so that the times in options and output are right.
public enum ClockCorrection {
  /// The smallest correction. A smaller difference is only the delay between the receiver and the recording.
  private static let leastNanoseconds: UInt64 = 1_000_000_000
  /// The number of states at the beginning of a file that are searched for a receiver's time. At ten states a second,
  /// they cover half a minute.
  private static let stateCountOfLook = 300

  /// The difference between a receiver's time and the log times, or 0 if it is below a second; `nil` if no receiver has
  /// reported the time.
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

  /// The difference, searched only at the beginning and the end of a file. Reading a whole file would take long, and
  /// would find nothing if no receiver has reported the time.
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
    // The times in a damaged file may be invalid.
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
    // A difference of almost a century is not an error of a clock.
    guard difference.magnitude < 3_000_000_000_000_000_000 else { return nil }
    return difference.magnitude < leastNanoseconds ? 0 : difference
  }
}

extension Int64 {
  /// The sum, limited to the range of the type.
  public func clampedSum(_ other: Int64) -> Int64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? (other < 0 ? .min : .max) : sum
  }
}
