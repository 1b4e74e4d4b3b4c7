import CLinux
import Devices
import Fusion
import Glibc
import Hub
import MCAP
import MonotonicTime
import Outputs
import Recording

/// The inputs of the fusion in a recording, as rows of a table. Values are in the chips' own axes, without calibration
/// and mount.
///
/// All rows are in memory: an hour of an inertial sensor at 100 Hz takes 29 MB.
struct RecordedRows: MeasurementTable {
  static let inertialColumns = ["t", "gx", "gy", "gz", "ax", "ay", "az", "mx", "my", "mz"]
  static let fixColumns = [
    "t", "lat", "lon", "alt", "sn", "se", "sd", "vn", "ve", "vd", "svn", "sve", "svd", "heading", "sheading",
  ]
  /// The sigma of an unknown height, in metres, as in the hub.
  private static let unknownHeightSigma = 5000.0

  private let columnCount: Int
  private var values: [Double] = []
  private var position = 0
  private(set) var row: [Double]
  /// The number of unreadable messages.
  private(set) var badCount = 0

  /// Makes a table without rows.
  init() {
    columnCount = 1
    row = []
  }

  /// Whether a path is a recording, even a damaged one, or a folder, which may contain recordings.
  static func isRecording(_ path: String) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0 else { return false }
    if status.st_mode & S_IFMT == S_IFDIR { return true }
    guard status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else { return false }
    do throws(MCAPError) {
      _ = try MCAPReader(path: path)
      return true
    } catch {
      if case .notMCAP = error { return false }
      return true
    }
  }

  /// Reads the samples of an inertial sensor. A sample's row also contains the newest magnetic field up to its time,
  /// unless an earlier row has it.
  ///
  /// - Parameter device: the ID of the requested inertial sensor or magnetometer, which the recording must contain; for
  ///   the other sensor, the first one in the board file is taken
  init(
    inertial paths: [String], device: String?, from: ExportTime? = nil, to: ExportTime? = nil
  ) throws(CommandError) {
    let source = try Source(paths)
    try source.require(device, of: [("/imu/", "/batch"), ("/magnetometer/", "")])
    guard let imu = source.preferred("/imu/", "/batch", device) else { throw source.lack("inertial sensor") }
    let magnetometer = source.preferred("/magnetometer/", "", device)
    self.init(columns: RecordedRows.inertialColumns.count)
    var fields: [MagnetometerSample] = []
    let topics = Set([imu.topic, magnetometer?.topic].compactMap { $0 })
    try read(source, topics, from, to) { rows, content in
      switch content {
      case .magneticField(let sample): fields.append(sample)
      case .batch(let batch):
        for index in 0..<batch.count {
          let sample = batch[index]
          let newest = fields.lastIndex { $0.at <= sample.at }
          let field = newest.map { SIMD3<Double>(fields[$0].field) } ?? SIMD3(repeating: .nan)
          if let newest { fields.removeFirst(newest + 1) }
          rows.append(sample, field)
        }
      default: break
      }
    }
  }

  /// Reads the fixes of a receiver.
  init(
    fixes paths: [String], device: String?, from: ExportTime? = nil, to: ExportTime? = nil
  ) throws(CommandError) {
    let source = try Source(paths)
    try source.files.requirePresentFormat()
    try source.require(device, of: [("/receiver/", "/epoch")])
    guard let receiver = source.preferred("/receiver/", "/epoch", device) else { throw source.lack("receiver") }
    self.init(columns: RecordedRows.fixColumns.count + 1)
    let latency = source.latency(of: receiver.id)
    var last: MonotonicInstant?
    try read(source, [receiver.topic], from, to) { rows, content in
      guard case .epoch(let epoch) = content else { return }
      // The first epoch of a run is recorded twice, so leave out the second. Keep an epoch that is earlier than the
      // last one: it belongs to another start of the board.
      if epoch.at == last { return }
      last = epoch.at
      rows.append(epoch, latency)
    }
  }

  private init(columns: Int) {
    columnCount = columns
    row = Array(repeating: .nan, count: columns)
  }

  private mutating func append(_ sample: IMUSample, _ field: SIMD3<Double>) {
    values.append(Double(sample.at.nanoseconds) / 1e9)
    for axis in 0..<3 { values.append(Double(sample.gyroscope[axis])) }
    for axis in 0..<3 { values.append(Double(sample.accelerometer[axis])) }
    for axis in 0..<3 { values.append(field[axis]) }
  }

  private mutating func append(_ epoch: ReceiverEpoch, _ latency: Duration) {
    guard let position = epoch.position else { return }
    let horizontal = position.horizontalSigmaMetres ?? .nan
    let vertical = position.verticalSigmaMetres ?? 2 * horizontal
    let hasHeight = position.altitudeHAEMetres != nil
    values.append(Double(epoch.at.advanced(by: .zero - latency).nanoseconds) / 1e9)
    values.append(position.latitudeDegrees)
    values.append(position.longitudeDegrees)
    values.append(position.altitudeHAEMetres ?? 0)
    values.append(horizontal)
    values.append(horizontal)
    values.append(hasHeight ? vertical : RecordedRows.unknownHeightSigma)
    let velocity = epoch.motion?.velocity ?? SIMD3(repeating: .nan)
    for axis in 0..<3 { values.append(velocity[axis]) }
    let speedSigma = epoch.motion?.horizontalSigmaMetresPerSecond ?? .nan
    values.append(speedSigma)
    values.append(speedSigma)
    values.append(epoch.motion?.verticalSigmaMetresPerSecond ?? .nan)
    values.append(epoch.heading?.degrees ?? .nan)
    values.append(epoch.heading?.sigmaDegrees ?? .nan)
    // The quality is unknown; 0 would mean that there is no fix.
    values.append(.nan)
  }

  private mutating func read(
    _ source: Source, _ topics: Set<String>, _ from: ExportTime?, _ to: ExportTime?,
    _ take: (inout RecordedRows, ReplayedMessage.Content) -> Void
  ) throws(CommandError) {
    do throws(RecordingError) {
      var messages = try RecordedMessages(source.files, from: from, to: to) { topics.contains($0) }
      while let message = try messages.next() {
        if let (_, content) = RecordedContent.read(message, topic: messages.topic(of: message)) {
          take(&self, content)
        } else {
          badCount += 1
        }
      }
    } catch {
      throw CommandError(error)
    }
  }

  var isEmpty: Bool { values.isEmpty }

  mutating func next() -> Bool {
    guard position < values.count else { return false }
    for column in 0..<columnCount { row[column] = values[position + column] }
    position += columnCount
    return true
  }

  mutating func rewind() { position = 0 }
}

extension RecordedRows {
  /// The files, and their devices.
  fileprivate struct Source {
    let files: RecordingFiles
    private let topics: Set<String>
    /// The board of the first file; `nil` if the file does not contain it.
    private let board: Board?

    init(_ paths: [String]) throws(CommandError) {
      do throws(RecordingError) {
        files = try RecordingFiles(paths)
        topics = files.files.reduce(into: []) { $0.formUnion($1.topics) }
        let reader = try files.files.first?.openIfThere()
        let text = reader.flatMap { RecordedMessages.facts(named: "board", of: $0)["file"] }
        board = text.flatMap { try? Board(json5: Array($0.utf8), file: "board") }
      } catch {
        throw CommandError(error)
      }
    }

    /// The IDs of the devices whose topic the recording has, sorted.
    private func ids(_ prefix: String, _ suffix: String) -> [String] {
      topics.filter { $0.hasPrefix(prefix) && $0.hasSuffix(suffix) }
        .map { String($0.dropFirst(prefix.count).dropLast(suffix.count)) }.sorted()
    }

    /// Checks that the recording has a requested device. Another device's measurements would look like this one's.
    ///
    /// - Parameter kinds: the prefix and the suffix of the topics that the device may have
    func require(_ device: String?, of kinds: [(prefix: String, suffix: String)]) throws(CommandError) {
      let found = kinds.flatMap { ids($0.prefix, $0.suffix) }
      guard let device, !found.isEmpty, !found.contains(device) else { return }
      throw CommandError(
        .data, "the recording contains no data of a device '\(Text.printable(device))'",
        nextStep: "valid ones are \(found.map(Text.printable).joined(separator: ", "))")
    }

    /// Chooses the device whose topic is read. A topic consists of the prefix, the device's ID and the suffix.
    ///
    /// - Returns: the requested device if the recording has its topic; otherwise the first fused device of the board, or the first of the others, whose
    ///   topic the recording has, or else the first device of the recording; `nil` if the recording has no such topic
    func preferred(_ prefix: String, _ suffix: String, _ wanted: String?) -> (id: String, topic: String)? {
      let ids = ids(prefix, suffix)
      // The calibration that is applied is that of the fused device.
      let (all, fused) = (board?.devices.map(\.id) ?? [], board?.fusedDevices ?? [])
      let first = (all.filter(fused.contains) + all).first(where: ids.contains) ?? ids.first
      let id = wanted.flatMap { ids.contains($0) ? $0 : nil } ?? first
      return id.map { ($0, prefix + $0 + suffix) }
    }

    /// The delay of a receiver's fixes.
    func latency(of id: String) -> Duration {
      for case .receiver(let receiver) in board?.devices ?? [] where receiver.id == id { return receiver.fixLatency }
      return .zero
    }

    func lack(_ what: String) -> CommandError {
      CommandError(
        .data, "the recording contains no data of \(what == "inertial sensor" ? "an" : "a") \(what)",
        nextStep: "sensorhub info lists what the recording contains, with times")
    }
  }
}
