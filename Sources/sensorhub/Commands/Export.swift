import ArgumentParser
import Glibc
import MCAP
import NMEA
import Outputs
import Recording
import SystemPackage

/// Converts recordings for other programs.
struct Export: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Turn recordings into GPX, GeoJSON, KML, CSV, NMEA or one MCAP file.",
    discussion: """
      A track contains each position of the fused state once. A new segment begins after ten seconds without a position \
      and after the receiver was off. GPX, KML and CSV contain heights above mean sea level, GeoJSON contains heights \
      above the ellipsoid. CSV has one row for each state. NMEA contains what the receiver sent, and MCAP all messages. \
      imu-csv and gnss-csv contain the exact measurements, in the form that "fuse" and "calibrate" read.

      \(TimeOption.help)

      Example: sensorhub export drive.mcap --from 10:00 --to 11:30 --output tour.gpx
      """)

  enum Format: String, ExpressibleByArgument, CaseIterable {
    case gpx, geojson, kml, csv, nmea, mcap
    case inertialTable = "imu-csv"
    case fixTable = "gnss-csv"

    var isTrack: Bool { [.gpx, .geojson, .kml].contains(self) }
    var isOfStates: Bool { isTrack || self == .csv }
    var isOfOneDevice: Bool { [.nmea, .inertialTable, .fixTable].contains(self) }
  }

  @Argument(help: ArgumentHelp("Recordings, or folders of them.", valueName: "file"))
  var files: [String]

  @Option(
    name: .customLong("format"),
    help: ArgumentHelp("The format to write. Default: by the file extension of --output.", valueName: "format"))
  var namedFormat: Format?

  /// The format. Without a valid one, `validate` has already thrown.
  private var format: Format { namedFormat ?? Export.format(ofFile: output) ?? .mcap }

  private static func format(ofFile path: String?) -> Format? {
    path?.split(separator: "/").last?.split(separator: ".").dropFirst().last.flatMap {
      Format(rawValue: $0.lowercased())
    }
  }

  @Option(help: ArgumentHelp("Leave out everything before this.", valueName: "time"), transform: TimeOption.read)
  var from: ExportTime?

  @Option(help: ArgumentHelp("Leave out this and everything later.", valueName: "time"), transform: TimeOption.read)
  var to: ExportTime?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Keep at most one position per this many seconds (csv: one row, with the position if it is known).",
      valueName: "seconds"))
  var every: Double?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Leave out points of a track that are nearer than this to the line between the remaining points.",
      valueName: "metres"))
  var simplify: Double?

  @Option(help: ArgumentHelp("The device to export, if there are several of a kind.", valueName: "id"))
  var device: String?

  enum Compression: String, ExpressibleByArgument, CaseIterable {
    case none, zstd

    var forWriter: MCAPCompression { self == .zstd ? .zstd() : .none }
  }

  @Option(help: "How an mcap file is compressed.")
  var compress: Compression?

  @Option(help: ArgumentHelp("Write to this file rather than to standard output.", valueName: "file"))
  var output: String?

  @Flag(help: "Replace an existing file. The recording itself can be replaced only by a complete mcap export.")
  var force = false

  func validate() throws {
    if namedFormat == nil, Export.format(ofFile: output) == nil {
      let known = Format.allCases.map(\.rawValue).filter { !$0.contains("-") }.joined(separator: ", ")
      throw ValidationError("give the format with --format, or name a file with --output that ends in one of \(known)")
    }
    if files.isEmpty { throw ValidationError("name a recording, or a folder of them") }
    if let every, !(0.001...86_400).contains(every) { throw ValidationError("--every must be from 0.001 to 86400") }
    if let simplify, !(0...100_000).contains(simplify) { throw ValidationError("--simplify must be from 0 to 100000") }
    if every != nil, !format.isOfStates { throw ValidationError("--every is for tracks and csv") }
    if simplify != nil, !format.isTrack { throw ValidationError("--simplify is for gpx, geojson and kml") }
    if device != nil, !format.isOfOneDevice {
      throw ValidationError("--device is for nmea, imu-csv and gnss-csv")
    }
    if compress != nil, format != .mcap { throw ValidationError("--compress is for mcap") }
    if output == "" { throw ValidationError("--output needs a path") }
    if force, output == nil { throw ValidationError("--force needs --output") }
  }

  func run() throws {
    // Check this before a file is created.
    if let compress, !compress.forWriter.isAvailable {
      let error = MCAPError.missingLibrary(compress.rawValue)
      throw CommandError(.unavailable, error.summary, nextStep: error.nextStep)
    }
    let recordings = try RecordingFiles(files)
    // A complete copy contains all data of the recording that it replaces. Any other output must not replace a
    // recording.
    if let output, output != "-", format != .mcap || from != nil || to != nil {
      try InputFiles.protect(recordings.files.map(\.path), from: output)
    }
    let output = try ExportOutput(path: output == "-" ? nil : output, replaces: force)
    do {
      switch format {
      case .gpx, .geojson, .kml: try writeTrack(of: recordings, to: output)
      case .csv: try writeTable(of: recordings, to: output)
      case .nmea: try writeSentences(of: recordings, to: output)
      case .inertialTable: try write(RecordedRows(inertial: files, device: device, from: from, to: to), to: output)
      case .fixTable: try write(RecordedRows(fixes: files, device: device, from: from, to: to), to: output)
      case .mcap: try copy(recordings, to: output)
      }
      try output.finish()
    } catch Errno.brokenPipe {
      // The program that reads the output has ended.
      return
    } catch MCAPError.system(_, EPIPE) {
      return
    } catch let error as Errno {
      throw CommandError(
        .inputOutput, "\(output.name) cannot be written: \(error)", nextStep: "check the free space of its disk")
    } catch let error as MCAPError {
      throw CommandError(.inputOutput, error.summary, nextStep: error.nextStep ?? "check the free space of its disk")
    }
    for file in recordings.files {
      guard file.damage != nil else { continue }
      Terminal.standardError("'\(Text.printable(file.path))': \(RecordingState.text(of: file))")
    }
  }

  private func messages(
    _ recordings: RecordingFiles, _ isWanted: @escaping @Sendable (String) -> Bool
  ) throws(RecordingError) -> RecordedMessages {
    try RecordedMessages(recordings, from: from, to: to, isWanted: isWanted)
  }

  // MARK: Tracks

  private func writeTrack(of recordings: RecordingFiles, to output: ExportOutput) throws {
    var states = StatesOfRecording(
      try messages(recordings, StatesOfRecording.isWanted), wanted: .points, everySeconds: every ?? 0)
    // The name of the track comes from the recording of the first state, so read that state before creating the writer.
    guard let first = try states.next() else { throw nothing("position", states.badCount) }
    let name = states.reader.flatMap(BoardOfRecording.name) ?? "SensorHub"
    switch format {
    case .gpx:
      var writer = GPXWriter(output, name: name, version: SensorHub.version)
      try write(first, &states, to: &writer)
    case .geojson:
      var writer = GeoJSONWriter(output, name: name)
      try write(first, &states, to: &writer)
    default:
      var writer = KMLWriter(output, name: name)
      try write(first, &states, to: &writer)
    }
    report(states.badCount)
  }

  private func write(
    _ first: StatesOfRecording.Entry, _ states: inout StatesOfRecording, to writer: inout some TrackWriter & ~Copyable
  ) throws {
    var splitter = TrackSplitter(everySeconds: every ?? 0)
    // The points of the present segment, which are collected only for `--simplify`.
    var segment: [TrackPoint] = []
    var lonePoints = LonePoints()
    var entry: StatesOfRecording.Entry? = first
    while let current = entry {
      if let point = current.point {
        if current.hasRested { splitter.noteRest() }
        let beginsSegment = splitter.beginsSegment(at: point.time)
        lonePoints.add(beginsSegment: beginsSegment)
        if simplify == nil {
          try writer.add(point, beginsSegment: beginsSegment)
        } else {
          if beginsSegment { try write(&segment, to: &writer) }
          segment.append(point)
        }
      }
      entry = try states.next()
    }
    try write(&segment, to: &writer)
    try writer.finish()
    lonePoints.finish()
    guard lonePoints.count > 0 else { return }
    Terminal.standardError(
      "points that are alone between pauses, and that no line connects: \(lonePoints.count) of \(lonePoints.totalCount)"
        + (format == .geojson ? "; the file leaves them out" : "")
        + "; to join scheduled fixes, give their interval in seconds with --every")
  }

  private func write(_ segment: inout [TrackPoint], to writer: inout some TrackWriter & ~Copyable) throws {
    let points = TrackSimplification.simplified(segment, toleranceMetres: simplify ?? 0)
    segment.removeAll(keepingCapacity: true)
    for (index, point) in points.enumerated() { try writer.add(point, beginsSegment: index == 0) }
  }

  // MARK: States, sentences, everything

  private func writeTable(of recordings: RecordingFiles, to output: ExportOutput) throws {
    var states = StatesOfRecording(
      try messages(recordings, StatesOfRecording.isWanted), wanted: .states, everySeconds: every ?? 0)
    guard let first = try states.next() else { throw nothing("state", states.badCount) }
    var table = StateTable(output)
    try table.add(first)
    while let entry = try states.next() { try table.add(entry) }
    try table.finish()
    report(states.badCount)
  }

  /// Writes rows as CSV. Numbers have all digits, so that they read back as the same values.
  private func write(_ table: RecordedRows, to output: ExportOutput) throws {
    if table.isEmpty { throw nothing("measurement", (table.badCount, 0)) }
    var rows = table
    let columns = format == .inertialTable ? RecordedRows.inertialColumns : RecordedRows.fixColumns
    var bytes = Array(columns.joined(separator: ",").utf8)
    while rows.next() {
      for (index, value) in rows.row.prefix(columns.count).enumerated() {
        bytes.append(UInt8(ascii: index == 0 ? "\n" : ","))
        if !value.isNaN { bytes.append(contentsOf: "\(value)".utf8) }
      }
      guard bytes.count > 1 << 16 else { continue }
      try bytes.withUnsafeBytes { try output.write($0) }
      bytes.removeAll(keepingCapacity: true)
    }
    bytes.append(UInt8(ascii: "\n"))
    try bytes.withUnsafeBytes { try output.write($0) }
    report((table.badCount, 0))
  }

  private func writeSentences(of recordings: RecordingFiles, to output: ExportOutput) throws {
    let topic = "/receiver/\(try receiver(of: recordings))/raw"
    var messages = try messages(recordings) { $0 == topic }
    var bytes: [UInt8] = []
    var isEmpty = true
    while let message = try messages.next() {
      isEmpty = false
      bytes += message.data
      guard bytes.count > 1 << 16 else { continue }
      try bytes.withUnsafeBytes { try output.write($0) }
      bytes.removeAll(keepingCapacity: true)
    }
    if isEmpty { throw nothing("sentence of a receiver", (0, messages.badChunkCount)) }
    try bytes.withUnsafeBytes { try output.write($0) }
    report((0, messages.badChunkCount))
  }

  /// The receiver whose sentences are exported.
  private func receiver(of recordings: RecordingFiles) throws(CommandError) -> String {
    let topics = recordings.files.reduce(into: Set<String>()) { $0.formUnion($1.topics) }
    let ids = topics.filter { $0.hasPrefix("/receiver/") && $0.hasSuffix("/raw") }.map {
      String($0.dropFirst("/receiver/".count).dropLast("/raw".count))
    }.sorted()
    guard let device else {
      guard ids.count <= 1 else {
        throw CommandError(
          .data, "the recording has several receivers: \(ids.map(Text.printable).joined(separator: ", "))",
          nextStep: "choose one, for example --device \(Text.printable(ids[0]))")
      }
      guard let id = ids.first else { throw nothing("sentence of a receiver", (0, 0)) }
      return id
    }
    guard ids.contains(device) else {
      throw CommandError(
        .data, "the recording has no sentences of a receiver '\(device)'",
        nextStep: ids.isEmpty
          ? "sensorhub info lists what the recording contains"
          : "valid ones are \(ids.map(Text.printable).joined(separator: ", "))")
    }
    return device
  }

  private func copy(_ recordings: RecordingFiles, to output: ExportOutput) throws {
    if output.isTerminal { throw ValidationError("an MCAP file is binary: name a file with --output") }
    var messages = try messages(recordings) { _ in true }
    guard let first = try messages.next() else { throw nothing("message", (0, messages.badChunkCount)) }
    var copy = try MCAPCopy(
      MCAPWriter(
        ExportSink(output: output), header: MCAPHeader(library: "sensorhub \(SensorHub.version)"),
        compression: compress?.forWriter ?? .none))
    var fileCount = 0
    var badRecordCount = 0
    var message: MCAPMessage? = first
    while let current = message {
      if let reader = messages.reader, messages.fileCount != fileCount {
        fileCount = messages.fileCount
        badRecordCount += try begin(reader, &copy)
      }
      try copy.append(current)
      message = try messages.next()
    }
    try copy.finish()
    report((badRecordCount, messages.badChunkCount))
  }

  /// Copies the metadata records and attachments of a file.
  ///
  /// - Returns: the number of attachments and metadata records that cannot be read
  private func begin(
    _ reader: MCAPReader<MCAPFileSource>, _ copy: inout MCAPCopy<ExportSink>
  ) throws(MCAPError) -> Int {
    var badCount = 0
    copy.beginFile(reader.summary)
    for index in reader.summary.metadata {
      guard let metadata = try? reader.metadata(index) else {
        badCount += 1
        continue
      }
      try copy.add(metadata)
    }
    for index in reader.summary.attachments {
      guard let attachment = try? reader.attachment(index) else {
        badCount += 1
        continue
      }
      try copy.add(attachment)
    }
    return badCount
  }

  // MARK: Messages to the user

  private func nothing(_ what: String, _ bad: (messages: Int, chunks: Int)) -> CommandError {
    report(bad)
    let place = from == nil && to == nil ? "" : " between --from and --to"
    return CommandError(
      .data, "there is no \(what) in the recording\(place)",
      nextStep: "sensorhub info lists what the recording contains, with times")
  }

  private func report(_ bad: (messages: Int, chunks: Int)) {
    if bad.messages > 0 || bad.chunks > 0 {
      Terminal.standardError("bad_messages=\(bad.messages) bad_chunks=\(bad.chunks)")
    }
  }
}
