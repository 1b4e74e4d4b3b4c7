import Hub

/// Recorded measurements of an IMU, in the body's axes.
struct InertialRecording {
  struct Sample {
    /// Seconds.
    var time: Double
    /// rad/s
    var gyroscope: SIMD3<Double>
    /// Specific force, m/s²
    var accelerometer: SIMD3<Double>
    /// Microtesla; `nil` where the row has none.
    var magnetometer: SIMD3<Double>?
  }

  private var table: CSVReader
  private let mount: MountMatrix
  /// The usual time between samples, seconds.
  let interval: Double

  init(path: String, mount: MountMatrix) throws(CommandError) {
    let columns = ["t", "gx", "gy", "gz", "ax", "ay", "az"]
    var start = try CSVReader(path: path, required: columns)
    var times: [Double] = []
    while times.count < 1000, start.next() { times.append(start.row[0]) }
    let steps = zip(times.dropFirst(), times).map { $0 - $1 }.filter { $0 > 0 }.sorted()
    interval = steps.isEmpty ? 0.01 : steps[steps.count / 2]
    self.mount = mount
    table = try CSVReader(path: path, required: columns, optional: ["mx", "my", "mz"])
  }

  var badCount: Int { table.badCount }

  mutating func next() -> Sample? {
    guard table.next() else { return nil }
    let row = table.row
    let field = SIMD3(row[7], row[8], row[9])
    return Sample(
      time: row[0], gyroscope: mount.apply(SIMD3(row[1], row[2], row[3])),
      accelerometer: mount.apply(SIMD3(row[4], row[5], row[6])),
      magnetometer: field.x.isFinite && field.y.isFinite && field.z.isFinite ? mount.apply(field) : nil)
  }
}
