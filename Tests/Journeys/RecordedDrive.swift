import Fusion
import Glibc
import HardwareIO

/// A recorded drive with inertial samples and reference positions that are accurate to centimetres: `imu.csv` and
/// `gnss.csv` in a folder, with the columns of `sensorhub fuse` and the quality of each fix (1: the ambiguities are
/// fixed).
public struct RecordedDrive: Sendable {
  struct Sample: Sendable {
    var time: Double
    var gyroscope: SIMD3<Float>
    var accelerometer: SIMD3<Float>
  }

  /// The true position and velocity (north, east, down) at a time.
  struct Truth: Sendable {
    var time: Double
    var position: GeodeticPosition
    var velocity: SIMD3<Double>
  }

  let samples: [Sample]
  let truth: [Truth]

  /// `nil` if the folder has no drive.
  public init?(folder: String) {
    guard let imu = RecordedDrive.rows(of: folder + "/imu.csv", columns: 7),
      let gnss = RecordedDrive.rows(of: folder + "/gnss.csv", columns: 14)
    else { return nil }
    samples = imu.map { row in
      Sample(
        time: row[0], gyroscope: SIMD3(Float(row[1]), Float(row[2]), Float(row[3])),
        accelerometer: SIMD3(Float(row[4]), Float(row[5]), Float(row[6])))
    }
    truth = gnss.filter { $0[13] == 1 }.map { row in
      Truth(
        time: row[0], position: GeodeticPosition(latitudeDegrees: row[1], longitudeDegrees: row[2], altitude: row[3]),
        velocity: SIMD3(row[7], row[8], row[9]))
    }
  }

  private static func rows(of path: String, columns: Int) -> [[Double]]? {
    guard let bytes = try? Files.bytes(of: path) else { return nil }
    let rows = bytes.split(separator: UInt8(ascii: "\n")).dropFirst().map { line in
      line.split(separator: UInt8(ascii: ",")).compactMap { Double(String(decoding: $0, as: UTF8.self)) }
    }
    return rows.isEmpty || rows.contains { $0.count < columns } ? nil : rows
  }
}
