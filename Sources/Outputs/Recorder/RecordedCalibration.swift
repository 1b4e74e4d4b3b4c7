import Fusion
import Hub

/// What has been calibrated of a chip, as JSON with the keys of its file.
enum RecordedCalibration {
  /// `nil` where nothing has been.
  static func text(of calibration: ChipCalibration) -> String? {
    guard !calibration.entries.isEmpty else { return nil }
    var json = JSONWriter()
    json.beginObject()
    for kind in CalibrationKind.allCases {
      guard let entry = calibration.entries[kind] else { continue }
      json.key(dynamic: kind.rawValue)
      json.beginObject()
      json.member("at", Int(entry.at))
      json.member("quality", entry.quality, decimals: 9)
      write(kind, of: calibration, to: &json)
      json.endObject()
    }
    json.endObject()
    return String(decoding: json.bytes, as: UTF8.self)
  }

  private static func write(_ kind: CalibrationKind, of calibration: ChipCalibration, to json: inout JSONWriter) {
    let values = calibration.values
    switch kind {
    case .gyro: write("bias", values.gyroscopeBias, to: &json)
    case .accel:
      write("offset", values.accelerometerOffset, to: &json)
      write("scale", values.accelerometerScale, to: &json)
    case .mag:
      write("offset", values.magnetometerOffset, to: &json)
      for (index, row) in values.magnetometerMatrix.enumerated() { write("row\(index)", row, to: &json) }
      json.member("strength", values.magnetometerStrength, decimals: 9)
    case .mount:
      guard let mount = calibration.mount else { return }
      // What it makes of the axes are its columns.
      let columns = [mount.apply(SIMD3(1, 0, 0)), mount.apply(SIMD3(0, 1, 0)), mount.apply(SIMD3(0, 0, 1))]
      json.key("rows")
      json.beginArray()
      for row in 0..<3 { write(SIMD3(columns[0][row], columns[1][row], columns[2][row]), to: &json) }
      json.endArray()
    }
  }

  private static func write(_ key: String, _ vector: SIMD3<Double>, to json: inout JSONWriter) {
    json.key(dynamic: key)
    write(vector, to: &json)
  }

  private static func write(_ vector: SIMD3<Double>, to json: inout JSONWriter) {
    json.beginArray()
    for axis in 0..<3 { json.number(vector[axis], decimals: 9) }
    json.endArray()
  }
}
