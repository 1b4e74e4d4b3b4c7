import MCAP
import NMEA
import Recording

/// The messages of some topics in some time, one file after the other.
///
/// Log times follow the system clock of when the recording began, which on a board without a clock of its own may be hours
/// off. Where a receiver has told the time they are corrected by it: the times that people give, and get, are right.
struct RecordedMessages {
  /// What is nearer is how long a state takes from the receiver to the recording.
  private static let leastCorrectionNanoseconds: Int64 = 1_000_000_000

  private let recordings: RecordingFiles
  private let isWanted: (String) -> Bool
  private let times: Range<UTCTime>?
  private var nextFile = 0
  private var messages: MCAPMessages<MCAPFileSource>?
  private var progress: RecordingProgress

  /// Of the file that the last message came from.
  private(set) var reader: MCAPReader<MCAPFileSource>?
  /// What is to be added to a log time of that file, to have UTC.
  private(set) var correctionNanoseconds: Int64 = 0
  /// When that file's recording began, by its own account: files of one recording are corrected alike.
  private var started: String?
  /// Counts the files.
  private(set) var fileCount = 0
  /// Chunks that could not be read.
  private(set) var badChunkCount = 0

  /// - Parameters:
  ///   - from, to: the end does not belong to it
  ///   - isWanted: whether messages of a topic are
  init(
    _ recordings: RecordingFiles, from: ExportTime?, to: ExportTime?, isWanted: @escaping (String) -> Bool
  ) throws(CommandError) {
    self.recordings = recordings
    self.isWanted = isWanted
    progress = RecordingProgress(total: recordings.messageCount)
    guard from != nil || to != nil else {
      times = nil
      return
    }
    guard let first = recordings.files.first(where: { $0.messageCount > 0 }) else {
      times = nil
      return
    }
    let reader = try first.open()
    let correction = try RecordedMessages.correction(of: reader, path: first.path)
    let start = UTCTime(
      nanosecondsSince1970: Int64(clamping: first.startNanoseconds).clampedSum(correction ?? 0))
    let lower = from?.instant(inRecordingFrom: start) ?? UTCTime(nanosecondsSince1970: .min)
    let upper = to?.instant(inRecordingFrom: start) ?? UTCTime(nanosecondsSince1970: .max)
    guard lower < upper else {
      throw CommandError(
        .data, "there is nothing from \(UTCText.make(lower)) to \(UTCText.make(upper))",
        nextStep: "a time of day is one of the recording's first day, \(UTCText.make(start).prefix(10)); "
          + "give another day's with its date, in UTC")
    }
    times = lower..<upper
  }

  /// The next message; `nil` after the last one. Chunks that are damaged are counted and left out.
  mutating func next() throws(CommandError) -> MCAPMessage? {
    while true {
      if messages == nil, try !openNext() {
        progress.finish()
        return nil
      }
      do throws(MCAPError) {
        if let message = try messages?.next() {
          progress.advance()
          return message
        }
        messages = nil
      } catch {
        // A disk that fails does so again.
        if case .system = error { throw CommandError(error, reading: recordings.files[nextFile - 1].path) }
        badChunkCount += 1
      }
    }
  }

  /// The corrected log time.
  func time(of message: MCAPMessage) -> UTCTime {
    UTCTime(nanosecondsSince1970: Int64(clamping: message.logTimeNanoseconds).clampedSum(correctionNanoseconds))
  }

  func topic(of message: MCAPMessage) -> String { reader?.summary.channels[message.channelID]?.topic ?? "" }

  /// Returns whether there was another file.
  private mutating func openNext() throws(CommandError) -> Bool {
    guard nextFile < recordings.files.count else { return false }
    let file = recordings.files[nextFile]
    nextFile += 1
    let reader = try file.open()
    fileCount += 1
    let before = started
    started = RecordedMessages.facts(named: "sensorhub", of: reader)["started"]
    if let correction = try RecordedMessages.correction(of: reader, path: file.path) {
      correctionNanoseconds = correction
    } else if started == nil || started != before {
      correctionNanoseconds = 0
    }
    self.reader = reader
    let channels = Set(reader.summary.channels.values.filter { isWanted($0.topic) }.map(\.id))
    guard !channels.isEmpty else { return true }
    messages = reader.messages(in: times.map(logTimes), channelIDs: channels)
    return true
  }

  private func logTimes(_ times: Range<UTCTime>) -> Range<UInt64> {
    func logTime(_ time: UTCTime) -> UInt64 {
      // The ends of time are no instants to be corrected.
      if time.nanosecondsSince1970 == .max { return .max }
      return UInt64(clamping: time.nanosecondsSince1970.clampedSum(-correctionNanoseconds))
    }
    return logTime(times.lowerBound)..<logTime(times.upperBound)
  }

  /// By how much a receiver's time differs from the log times; `nil` where none has told it.
  static func correction(
    of reader: MCAPReader<MCAPFileSource>, path: String
  ) throws(CommandError) -> Int64? {
    let channels = reader.summary.channelIDs(ofTopics: ["/state"])
    guard !channels.isEmpty else { return nil }
    var states = reader.messages(channelIDs: channels)
    while true {
      do throws(MCAPError) {
        guard let message = try states.next() else { return nil }
        if let correction = correction(by: message) { return correction }
      } catch {
        if case .system = error { throw CommandError(error, reading: path) }
      }
    }
  }

  static func correction(by message: MCAPMessage) -> Int64? {
    guard let state = RecordedState(message.data), state.isTimeConfirmed, let time = state.time else { return nil }
    let difference = time.nanosecondsSince1970.clampedSum(-Int64(clamping: message.logTimeNanoseconds))
    // No clock is a century off.
    guard difference.magnitude < 3_000_000_000_000_000_000 else { return nil }
    return difference.magnitude < UInt64(leastCorrectionNanoseconds) ? 0 : difference
  }

  /// The entries of the last metadata record of a name; none where there is none that can be read.
  static func facts(named name: String, of reader: MCAPReader<MCAPFileSource>) -> [String: String] {
    guard let index = reader.summary.metadata.last(where: { $0.name == name }) else { return [:] }
    return (try? reader.metadata(index))?.entries ?? [:]
  }
}

extension Int64 {
  /// The sum, or the nearest number that there is.
  func clampedSum(_ other: Int64) -> Int64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? (other < 0 ? .min : .max) : sum
  }
}
