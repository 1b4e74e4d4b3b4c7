/// Rows of numbers, whatever file they come from: the wanted columns in a fixed order, the time in seconds first.
protocol MeasurementTable {
  /// The row that was read last; NaN where a value is unknown.
  var row: [Double] { get }
  /// Rows that were left out.
  var badCount: Int { get }
  /// Reads the next good row; returns whether there was one.
  mutating func next() -> Bool
  /// Back to the first row.
  mutating func rewind()
}

extension CSVReader: MeasurementTable {}

/// Measurements in a file: a table (CSV), or a recording.
enum MeasurementFile: MeasurementTable {
  case table(CSVReader)
  case recording(RecordedRows)

  /// Of an inertial sensor: t,gx,gy,gz,ax,ay,az,mx,my,mz.
  ///
  /// - Parameter device: of a recording of several, the ID of the one that is wanted
  static func inertial(_ path: String, device: String? = nil) throws(CommandError) -> MeasurementFile {
    if RecordedRows.isRecording(path) { return .recording(try RecordedRows(inertial: [path], device: device)) }
    let columns = RecordedRows.inertialColumns
    return .table(
      try CSVReader(path: path, required: Array(columns.prefix(7)), optional: Array(columns.dropFirst(7))))
  }

  /// Of a receiver: t,lat,lon,alt, the sigmas, the velocity and its sigmas, quality.
  static func fixes(_ path: String, device: String? = nil) throws(CommandError) -> MeasurementFile {
    if RecordedRows.isRecording(path) { return .recording(try RecordedRows(fixes: [path], device: device)) }
    let columns = RecordedRows.fixColumns
    return .table(
      try CSVReader(
        path: path, required: Array(columns.prefix(4)), optional: Array(columns.dropFirst(4)) + ["quality"]))
  }

  var row: [Double] {
    switch self {
    case .table(let table): table.row
    case .recording(let rows): rows.row
    }
  }

  var badCount: Int {
    switch self {
    case .table(let table): table.badCount
    case .recording(let rows): rows.badCount
    }
  }

  mutating func next() -> Bool {
    switch self {
    case .table(var table):
      // Taken out during the change, because it would be copied otherwise.
      self = .recording(RecordedRows())
      defer { self = .table(table) }
      return table.next()
    case .recording(var rows):
      self = .recording(RecordedRows())
      defer { self = .recording(rows) }
      return rows.next()
    }
  }

  mutating func rewind() {
    switch self {
    case .table(var table):
      table.rewind()
      self = .table(table)
    case .recording(var rows):
      rows.rewind()
      self = .recording(rows)
    }
  }
}
