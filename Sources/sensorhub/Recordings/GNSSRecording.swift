import Fusion

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

  /// The next fix in the order of time, and the number of times that the clock restarted before it. Rows of quality 0
  /// contain no fix, and are skipped.
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
