import Fusion
import Hub

/// Recorded fixes of a receiver.
struct GNSSRecording {
  private var table: MeasurementFile
  private var order = TimeOrder()
  private let headingOffsetDegrees: Double

  /// - Parameters:
  ///   - path: the path of a table, or of a recording
  ///   - headingOffsetDegrees: the offset to add to the receiver's headings
  init(path: String, headingOffsetDegrees: Double = 0) throws(CommandError) {
    table = try .fixes(path)
    self.headingOffsetDegrees = headingOffsetDegrees
  }

  /// The number of rows that were left out, including those whose time does not advance.
  var badCount: Int { table.badCount + order.droppedCount }

  /// The next fix in the order of time, and the number of times that the recording's clock restarted before it. Rows of
  /// quality 0 contain no fix, and are skipped.
  mutating func next() -> (section: Int, fix: GNSSMeasurement)? {
    while let (section, row) = order.next(of: &table) {
      if row[15] == 0 { continue }
      func vector(_ first: Int, orElse missing: Double) -> SIMD3<Double> {
        let values = SIMD3(row[first], row[first + 1], row[first + 2])
        // NaN is the only value that differs from itself, so this mask finds missing values.
        return values.replacing(with: missing, where: values .!= values)
      }
      let velocity = SIMD3(row[7], row[8], row[9])
      var fix = GNSSMeasurement(
        time: row[0],
        position: GeodeticPosition(latitudeDegrees: row[1], longitudeDegrees: row[2], altitude: row[3]),
        positionSigma: vector(4, orElse: 5),
        velocity: velocity.x.isNaN || velocity.y.isNaN || velocity.z.isNaN ? nil : velocity,
        velocitySigma: vector(10, orElse: 0.5))
      if !row[13].isNaN, !row[14].isNaN {
        fix.heading = StatedHeading(degrees: row[13] + headingOffsetDegrees, sigmaDegrees: row[14])
      }
      return (section, fix)
    }
    return nil
  }
}

/// Recorded measurements of an IMU, in the body's axes.
struct InertialRecording {
  struct Sample {
    /// The number of times that the recording's clock restarted before this sample.
    var section: Int
    /// The time in seconds.
    var time: Double
    /// The angular rate, rad/s.
    var gyroscope: SIMD3<Double>
    /// The specific force, m/s².
    var accelerometer: SIMD3<Double>
    /// The field in microtesla; `nil` if the row has none.
    var magnetometer: SIMD3<Double>?
  }

  private var table: MeasurementFile
  private let mount: MountMatrix
  private let magneticMount: MountMatrix
  private let calibration: InertialCalibration
  /// The median time between the first 1000 samples, in seconds; 0.01 if no time is later than the one before.
  let interval: Double
  /// The usual time between magnetic fields, in seconds; `nil` without a magnetometer.
  let magneticInterval: Double?
  private var order = TimeOrder()

  /// - Parameters:
  ///   - path: the path of a table, or of a recording
  ///   - device: the ID of the requested device, if a recording has several
  ///   - mount, calibration: those of the chip, if the recording is in the chip's axes
  ///   - magneticMount: the mount of the magnetometer; `nil` if it is that of the chip
  init(
    path: String, device: String? = nil, mount: MountMatrix = .identity, magneticMount: MountMatrix? = nil,
    calibration: InertialCalibration = .init()
  ) throws(CommandError) {
    table = try .inertial(path, device: device)
    self.mount = mount
    self.magneticMount = magneticMount ?? mount
    self.calibration = calibration
    var times: [Double] = []
    var fieldTimes: [Double] = []
    while times.count < 1000, table.next() {
      times.append(table.row[0])
      if table.row[7].isFinite { fieldTimes.append(table.row[0]) }
    }
    interval = InertialRecording.usualStep(of: times) ?? 0.01
    magneticInterval = InertialRecording.usualStep(of: fieldTimes)
    table.rewind()
  }

  private static func usualStep(of times: [Double]) -> Double? {
    let steps = zip(times.dropFirst(), times).map { $0 - $1 }.filter { $0 > 0 }.sorted()
    return steps.isEmpty ? nil : steps[steps.count / 2]
  }

  /// The number of rows that were left out, including those whose time does not advance.
  var badCount: Int { table.badCount + order.droppedCount }

  /// The next sample in the order of time.
  mutating func next() -> Sample? {
    guard let (section, row) = order.next(of: &table) else { return nil }
    let field = SIMD3(row[7], row[8], row[9])
    let hasField = field.x.isFinite && field.y.isFinite && field.z.isFinite
    return Sample(
      section: section, time: row[0], gyroscope: mount.apply(calibration.gyroscope(SIMD3(row[1], row[2], row[3]))),
      accelerometer: mount.apply(calibration.accelerometer(SIMD3(row[4], row[5], row[6]))),
      magnetometer: hasField ? magneticMount.apply(calibration.magnetometer(field)) : nil)
  }
}
