import MCAP
import NMEA

/// The messages of some topics in a period, file after file, with corrected times (`ClockCorrection`).
public struct RecordedMessages: Sendable {
  private let files: [RecordingFiles.File]
  private let isWanted: @Sendable (String) -> Bool
  private let times: Range<UTCTime>?
  /// The end of the messages that were read earlier.
  private let cursor: RecordingCursor?
  /// Whether to continue with the next file if one cannot be read.
  private let isLenient: Bool
  private let progress: (any ReadingProgress)?
  private var nextFile = 0
  private var messages: MCAPMessages<MCAPFileSource>?

  /// The reader of the file that contains the last message.
  public private(set) var reader: MCAPReader<MCAPFileSource>?
  /// The name of the last message's file, without the folder.
  private(set) var fileName = ""
  /// The offset from the log times of the last message's file to UTC.
  public private(set) var correctionNanoseconds: Int64 = 0
  /// When the recording in the last message's file began, according to the file. All files of one recording get the
  /// same correction.
  private var started: String?
  /// The number of files that have been opened.
  public private(set) var fileCount = 0
  /// The number of unreadable chunks.
  public private(set) var badChunkCount = 0
  private var vanishedFileCount = 0

  /// - Parameters:
  ///   - from, to: the period; the end is excluded
  ///   - progress: informed about each message
  ///   - isWanted: whether a topic's messages are included
  public init(
    _ recordings: RecordingFiles, from: ExportTime?, to: ExportTime?, progress: (any ReadingProgress)?,
    isWanted: @escaping @Sendable (String) -> Bool
  ) throws(RecordingError) {
    files = recordings.files
    self.isWanted = isWanted
    self.progress = progress
    cursor = nil
    isLenient = false
    guard from != nil || to != nil, let start = try RecordedMessages.start(of: files) else {
      times = nil
      return
    }
    let lower = from?.start(inRecordingFrom: start) ?? UTCTime(nanosecondsSince1970: .min)
    let upper = to?.end(inRecordingFrom: start) ?? UTCTime(nanosecondsSince1970: .max)
    guard lower < upper else { throw .nothingBetween(from: lower, to: upper, recordedFrom: start) }
    times = lower..<upper
  }

  /// The time of the first message.
  private static func start(of files: [RecordingFiles.File]) throws(RecordingError) -> UTCTime? {
    for file in files where file.messageCount > 0 {
      guard let reader = try file.openIfThere() else { continue }
      let correction = try ClockCorrection.nanoseconds(of: reader, path: file.path)
      return UTCTime(nanosecondsSince1970: Int64(clamping: file.startNanoseconds).clampedSum(correction ?? 0))
    }
    return nil
  }

  /// The messages of a ring of segments, some of which may be removed while they are read.
  ///
  /// - Parameter cursor: the end of the messages that were read earlier, in the first of the files
  init(
    _ files: [RecordingFiles.File], in times: Range<UTCTime>, after cursor: RecordingCursor? = nil,
    isWanted: @escaping @Sendable (String) -> Bool
  ) {
    self.files = files
    self.times = times
    self.cursor = cursor
    self.isWanted = isWanted
    isLenient = true
    progress = nil
  }

  /// The next message; `nil` after the last one. Damaged chunks are skipped and counted.
  public mutating func next() throws(RecordingError) -> MCAPMessage? {
    while true {
      if messages == nil, try !openNext() {
        progress?.finish(vanishedFileCount: vanishedFileCount)
        // Report the number only once.
        vanishedFileCount = 0
        return nil
      }
      do throws(MCAPError) {
        if let message = try messages?.next() {
          progress?.advance()
          if let cursor, cursor.file == fileName, cursor.covers(message) { continue }
          return message
        }
        messages = nil
      } catch {
        badChunkCount += 1
        // A disk error would occur again in the next chunk, so it ends the reading.
        guard case .system = error else { continue }
        if !isLenient { throw .unreadable(path: files[nextFile - 1].path, error) }
        messages = nil
      }
    }
  }

  /// Skips states before a log time: chunks of the present file that contain only such states are not read. Some of
  /// these states may still be returned.
  mutating func skipStates(beforeNanoseconds logTime: UInt64) {
    guard let reader else { return }
    messages?.skip(reader.summary.channelIDs(ofTopics: ["/state"]), beforeNanoseconds: logTime)
  }

  /// The corrected log time.
  public func time(of message: MCAPMessage) -> UTCTime {
    UTCTime(nanosecondsSince1970: Int64(clamping: message.logTimeNanoseconds).clampedSum(correctionNanoseconds))
  }

  public func topic(of message: MCAPMessage) -> String { reader?.summary.channels[message.channelID]?.topic ?? "" }

  /// Opens the next file.
  ///
  /// - Returns: whether there was one
  private mutating func openNext() throws(RecordingError) -> Bool {
    guard nextFile < files.count else { return false }
    let file = files[nextFile]
    nextFile += 1
    fileName = file.path.split(separator: "/").last.map(String.init) ?? ""
    let opened: MCAPReader<MCAPFileSource>?
    do throws(RecordingError) {
      opened = try file.openIfThere()
    } catch {
      if isLenient { return true }
      throw error
    }
    guard let reader = opened else {
      vanishedFileCount += 1
      return true
    }
    fileCount += 1
    let before = started
    started = RecordedMessages.facts(named: "sensorhub", of: reader)["started"]
    if let correction = try correction(file, reader) {
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

  private func correction(
    _ file: RecordingFiles.File, _ reader: MCAPReader<MCAPFileSource>
  ) throws(RecordingError) -> Int64? {
    if let known = file.correctionNanoseconds { return known }
    return try ClockCorrection.nanoseconds(of: reader, path: file.path)
  }

  /// The entries of the last metadata record with this name; empty if there is none, or if it cannot be read.
  public static func facts(named name: String, of reader: MCAPReader<MCAPFileSource>) -> [String: String] {
    guard let index = reader.summary.metadata.last(where: { $0.name == name }) else { return [:] }
    return (try? reader.metadata(index))?.entries ?? [:]
  }

  private func logTimes(_ times: Range<UTCTime>) -> Range<UInt64> {
    func logTime(_ time: UTCTime) -> UInt64 {
      // The largest time stands for no limit, so it is not corrected.
      if time.nanosecondsSince1970 == .max { return .max }
      return UInt64(clamping: time.nanosecondsSince1970.clampedSum(-correctionNanoseconds))
    }
    let upper = logTime(times.upperBound)
    var lower = logTime(times.lowerBound)
    if let cursor, cursor.file == fileName { lower = max(lower, cursor.logTimeNanoseconds) }
    return min(lower, upper)..<upper
  }
}

/// An observer of the progress of reading a recording.
public protocol ReadingProgress: AnyObject, Sendable {
  /// Counts one more message.
  func advance()
  /// Ends the progress.
  ///
  /// - Parameter vanishedFileCount: the number of files of a folder that were removed before they were read
  func finish(vanishedFileCount: Int)
}
