import ArgumentParser
import Hub
import MCAP
import NMEA
import Outputs
import Recording

/// Lists the contents of recordings.
struct Info: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the contents of recordings: times, amounts, and gaps.",
    discussion: """
      Reads every file completely. Rates are averages over the time that the files cover; messages that are written \
      only when something happens have no rate. A gap counts as a pause if it is longer than two seconds and longer than \
      ten times the usual interval. Times are in UTC, followed by this machine's local time. If the board's clock was \
      wrong, the receiver's time corrects them.

      Example: sensorhub info /var/lib/sensorhub/recordings
      As JSON: sensorhub info --json . | jq '.files[] | select(.whole | not) | .path'
      """)

  @Argument(help: ArgumentHelp("Recordings, or folders of them.", valueName: "file"))
  var files: [String]

  @Flag(help: "Print one JSON object.")
  var json = false

  func validate() throws {
    if files.isEmpty { throw ValidationError("name a recording, or a folder of them") }
  }

  func run() throws {
    let recordings = try RecordingFiles(files)
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("files")
    writer.beginArray()
    var all = RecordingContents()
    let progress = RecordingProgress(total: recordings.messageCount)
    var before: (started: String?, correction: Int64) = (nil, 0)
    // The recorder's settings and the requests in the last board file of the recordings.
    var settings: RecordSettings?
    var requests: [StandingRequest] = []
    var vanishedFileCount = 0
    for file in recordings.files {
      guard let reader = try file.openIfThere() else {
        vanishedFileCount += 1
        continue
      }
      let facts = RecordedMessages.facts(named: "sensorhub", of: reader)
      let started = facts["started"]
      let correction =
        try ClockCorrection.nanoseconds(of: reader, path: file.path)
        ?? (started != nil && started == before.started ? before.correction : 0)
      before = (started, correction)
      let (contents, badChunkCount) = try contents(of: reader, file.path, correction, &all, progress)
      progress.finish()
      if let board = BoardOfRecording.board(reader) { (settings, requests) = (board.record, board.requests) }
      let description = Description(
        file: file, version: facts["version"], started: started, board: BoardOfRecording.name(reader),
        correction: correction, badChunkCount: badChunkCount, isOlder: RecordingFormat.isOlder(reader),
        contents: contents)
      if json { description.write(to: &writer) } else { description.print() }
    }
    writer.endArray()
    progress.finish(vanishedFileCount: vanishedFileCount)
    for path in recordings.emptyPaths { Terminal.standardError("'\(Text.printable(path))' has no complete chunk yet") }
    let rate = RecordingRate(of: recordings.files)
    if json {
      writer.key("all")
      writer.beginObject()
      all.write(to: &writer)
      writer.endObject()
      if let settings {
        writer.key("budget")
        writer.beginObject()
        writer.member("megabytes", settings.maximumMegabytes)
        writer.member("lastsSeconds", rate?.seconds(for: settings.maximumMegabytes), decimals: 0)
        writer.member("wakes", settings.wakes)
        writer.endObject()
      }
      writer.endObject()
      Terminal.standardOutput(json: String(decoding: writer.bytes, as: UTF8.self))
    } else if recordings.files.count > 1 {
      Terminal.standardOutput("total: \(recordings.files.count) files")
      for line in all.lines { Terminal.standardOutput(line) }
    }
    if !json, let settings, let rate {
      let time = RecordingRate.text(seconds: rate.seconds(for: settings.maximumMegabytes))
      Terminal.standardOutput("budget: \(settings.maximumMegabytes) MB hold \(time) of recording at this rate")
      if let gap = RecorderOutlook.gap(in: settings, requests) { Terminal.standardOutput("budget: \(gap)") }
    }
  }

  private func contents(
    of reader: MCAPReader<MCAPFileSource>, _ path: String, _ correction: Int64,
    _ all: inout RecordingContents, _ progress: RecordingProgress
  ) throws(RecordingError) -> (RecordingContents, badChunkCount: Int) {
    var contents = RecordingContents()
    contents.byteCount = reader.source.byteCount
    all.byteCount += reader.source.byteCount
    all.beginFile()
    for channel in reader.summary.channels.values {
      contents.add(channel)
      all.add(channel)
    }
    var badChunkCount = 0
    var messages = reader.messages()
    while true {
      do throws(MCAPError) {
        guard let message = try messages.next() else { return (contents, badChunkCount) }
        progress.advance()
        let topic = reader.summary.channels[message.channelID]?.topic ?? ""
        let logTime = message.logTimeNanoseconds
        let time = UTCTime(nanosecondsSince1970: Int64(clamping: logTime).clampedSum(correction))
        contents.add(topic: topic, logTimeNanoseconds: logTime, time: time)
        all.add(topic: topic, logTimeNanoseconds: logTime, time: time)
      } catch {
        if case .system = error { throw .unreadable(path: path, error) }
        badChunkCount += 1
      }
    }
  }

  /// The facts about one file that are printed.
  private struct Description {
    var file: RecordingFiles.File
    var version: String?
    var started: String?
    var board: String?
    var correction: Int64
    var badChunkCount: Int
    var isOlder: Bool
    var contents: RecordingContents

    func print() {
      Terminal.standardOutput(Text.printable(file.path))
      Terminal.standardOutput("  state     \(state)")
      if let version {
        let start = started.map { ", started \($0)" } ?? ""
        Terminal.standardOutput("  program   sensorhub \(Text.printable(version + start))")
      }
      if isOlder {
        Terminal.standardOutput(
          "  format    older, without the inputs of the fusion: export reads it; to replay it, use the "
            + "version that recorded it")
      }
      if let board { Terminal.standardOutput("  board     \(Text.printable(board))") }
      if correction != 0 {
        let off = Text.duration(seconds: Double(correction.magnitude) / 1e9)
        Terminal.standardOutput(
          "  clock     the board's clock was \(off) \(correction > 0 ? "slow" : "fast"); the times shown are corrected")
      }
      for line in contents.lines { Terminal.standardOutput(line) }
    }

    func write(to json: inout JSONWriter) {
      json.beginObject()
      json.member("path", file.path)
      json.member("whole", file.damage == nil && badChunkCount == 0)
      if file.damage != nil || badChunkCount > 0 { json.member("damage", state) }
      json.member("version", version)
      json.member("started", started)
      json.member("replayable", !isOlder)
      json.member("board", board)
      json.member("clockCorrectionSeconds", Double(correction) / 1e9, decimals: 3)
      contents.write(to: &json)
      json.endObject()
    }

    private var state: String {
      guard badChunkCount > 0 else { return RecordingState.text(of: file) }
      let chunks = "\(badChunkCount) chunks cannot be read"
      return file.damage == nil ? "damaged: \(chunks)" : "\(RecordingState.text(of: file)); \(chunks)"
    }
  }
}
