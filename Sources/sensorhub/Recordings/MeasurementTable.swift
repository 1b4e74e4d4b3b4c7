/// Rows of numbers from a file of any kind, with the requested columns in a fixed order. The first column is the time
/// in seconds.
protocol MeasurementTable {
  /// The row that was read last; unknown values are NaN.
  var row: [Double] { get }
  /// The number of rows that were left out.
  var badCount: Int { get }
  /// Reads the next valid row.
  ///
  /// - Returns: whether there was another row
  mutating func next() -> Bool
  /// Returns to the first row.
  mutating func rewind()
}

extension CSVReader: MeasurementTable {}

/// Measurements in a file: a table (CSV), or a recording.
enum MeasurementFile: MeasurementTable {
  case table(CSVReader)
  case recording(RecordedRows)

  /// An inertial sensor's measurements: t,gx,gy,gz,ax,ay,az,mx,my,mz.
  ///
  /// - Parameter device: the ID of the requested device, if a recording has several
  static func inertial(_ path: String, device: String? = nil) throws(CommandError) -> MeasurementFile {
    if RecordedRows.isRecording(path) { return .recording(try RecordedRows(inertial: [path], device: device)) }
    let columns = RecordedRows.inertialColumns
    return .table(
      try CSVReader(path: path, required: Array(columns.prefix(7)), optional: Array(columns.dropFirst(7))))
  }

  /// A receiver's fixes: t,lat,lon,alt, then the sigmas of the position, the velocity, its sigmas, the heading and its
  /// sigma, and the quality.
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
      // Take the value out of `self` during the change, because a second reference would cause a copy.
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
