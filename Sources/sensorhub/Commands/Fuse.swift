import ArgumentParser
import Fusion
import Outputs
import SystemPackage

/// Runs the hub's filters over recorded measurements.
struct Fuse: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Fuse recorded measurements with the hub's own filters.",
    discussion: """
      Reads CSV files with a heading line: t,gx,gy,gz,ax,ay,az and optionally mx,my,mz in s, rad/s, m/s² and µT. Writes CSV,
      a row per sample: t and the quaternion qw,qx,qy,qz from the sensor to the earth frame.

      Example: sensorhub fuse --imu imu.csv > attitude.csv
      """)

  enum Frame: String, ExpressibleByArgument, CaseIterable { case ned, enu }

  @Option(help: ArgumentHelp("Inertial and magnetic measurements.", valueName: "file.csv"))
  var imu: String

  @Option(help: "The earth frame of the quaternion: north-east-down or east-north-up.")
  var frame = Frame.ned

  func run() throws {
    var output = FusedTable(frame: frame)
    var samples = try InertialRecording(path: imu)
    var filter = OrientationFilter(interval: samples.interval)
    var last: Double?
    while let sample = samples.next() {
      filter.update(
        gyroscope: sample.gyroscope, accelerometer: sample.accelerometer, magnetometer: sample.magnetometer,
        seconds: last.map { sample.time - $0 } ?? samples.interval)
      last = sample.time
      try output.write(time: sample.time, attitude: filter.attitude)
    }
    try output.flush()
    if samples.badCount > 0 { Terminal.standardError("skipped=\(samples.badCount)") }
  }
}
