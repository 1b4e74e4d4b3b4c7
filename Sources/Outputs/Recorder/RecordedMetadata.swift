import Hub
import MCAP
import Recording

/// The metadata records about a recording's origin: the program, the board file and the calibrations.
enum RecordedMetadata {
  /// - Parameter boardText: the text of the board file; `nil` without one
  static func records(_ board: Board, boardText: [UInt8]?, version: String, time: RecordingTime) -> [MCAPMetadata] {
    var records = [
      MCAPMetadata(
        name: "sensorhub",
        entries: [
          "version": version,
          RecordingFormat.key: "\(RecordingFormat.current)",
          "started": UTCStamp(nanosecondsSince1970: time.beganNanosecondsSince1970).extended,
          // The log time minus CLOCK_MONOTONIC, which dates measurements.
          "logTimeOffsetNanoseconds": "\(time.offsetNanoseconds)",
        ])
    ]
    if let boardText {
      records.append(MCAPMetadata(name: "board", entries: ["file": String(decoding: boardText, as: UTF8.self)]))
    }
    var calibrations: [String: String] = [:]
    for device in board.devices {
      if let calibration = device.calibration, !calibration.entries.isEmpty {
        calibrations[device.id] = calibration.json5
      }
    }
    if !calibrations.isEmpty { records.append(MCAPMetadata(name: "calibration", entries: calibrations)) }
    return records
  }
}
