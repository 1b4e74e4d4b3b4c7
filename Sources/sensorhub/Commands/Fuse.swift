import ArgumentParser
import Fusion
import Hub
import Outputs

/// Runs the hub's filters on recorded measurements.
struct Fuse: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Fuse recorded measurements with the hub's own filters.",
    discussion: """
      Reads a hub's recordings, or CSV files with a heading line, as written by "export --format imu-csv" and "export \
      --format gnss-csv". Unknown columns are ignored. Columns of inertial measurements: t,gx,gy,gz,ax,ay,az and \
      optionally mx,my,mz, in s, rad/s, m/s² and µT. Columns of fixes: t,lat,lon,alt and optionally the position's sigmas \
      sn,se,sd, the velocity vn,ve,vd, its sigmas svn,sve,svd, and the heading of a receiver with two antennas and its \
      sigma, heading,sheading, in s, degrees, m and m/s.

      Writes CSV with one row per inertial sample: t and the quaternion qw,qx,qy,qz from the sensor to the earth frame; \
      with fixes also lat,lon,alt,vn,ve,vd,sn,se,sd,svn,sve,svd,mode.

      The rows must be in order of time; a small disorder (16 rows, 1.5 s) is corrected. If the clock restarts, the \
      filters restart too.

      Example: sensorhub fuse --imu imu.csv --gnss gnss.csv --vehicle > fused.csv
      A recording: sensorhub fuse --imu drive.mcap --gnss drive.mcap > fused.csv
      With its calibration: sensorhub fuse --imu drive.mcap --board my-board.json5
      """)

  enum Frame: String, ExpressibleByArgument, CaseIterable { case ned, enu }

  @Option(help: ArgumentHelp("Inertial and magnetic measurements.", valueName: "file"))
  var imu: String

  @Option(help: ArgumentHelp("Fixes of a receiver.", valueName: "file"))
  var gnss: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The antenna's position relative to the IMU: forward, right, down, in metres.", valueName: "x,y,z"))
  var leverArm: LeverArm?

  @Flag(help: "The sensor is in a vehicle on wheels, which moves forward.")
  var vehicle = false

  @Option(help: "The earth frame of the quaternion: north-east-down or east-north-up.")
  var frame = Frame.ned

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The correlation time of the receiver's errors, 0 if they are independent. The hub assumes 10.",
      valueName: "seconds"))
  var correlationTime = 0.0

  @Option(
    help: ArgumentHelp(
      "Take the sensors' mounting and calibration and the lever arm from a board file.", valueName: "file.json5"))
  var board: String?

  @Option(help: ArgumentHelp("Also draw track, attitude and sigmas.", valueName: "file.svg"))
  var plot: String?

  @Flag(help: "Replace an existing drawing.")
  var force = false

  func validate() throws {
    if force, plot == nil { throw ValidationError("--force needs --plot") }
    if gnss == nil, leverArm != nil || vehicle { throw ValidationError("--lever-arm and --vehicle need --gnss") }
    if !(0...3600).contains(correlationTime) { throw ValidationError("--correlation-time must be from 0 to 3600") }
  }

  func run() throws {
    if let plot { try InputFiles.protect([imu, gnss, self.board].compactMap { $0 }, from: plot) }
    // Open the output before the computation, so that an error appears at once.
    let picture = try plot.map { try ExportOutput(path: $0, replaces: force) }
    let board = try board.map { try BoardSource(file: $0).load() }
    let chip = board?.imu
    var calibration = chip?.calibration.values ?? .init()
    let magnetometer = board?.magnetometer
    if let values = magnetometer?.calibration.values {
      calibration.magnetometerOffset = values.magnetometerOffset
      calibration.magnetometerMatrix = values.magnetometerMatrix
      calibration.magnetometerStrength = values.magnetometerStrength
    }
    var samples = try InertialRecording(
      path: imu, mount: chip?.calibration.mount ?? chip?.mount ?? .identity, magneticMount: magnetometer?.placement,
      calibration: calibration)
    if let gnss {
      var configuration = NavigationFilter.Configuration()
      configuration.interval = samples.interval
      configuration.magneticInterval = samples.magneticInterval
      configuration.magneticStrength = calibration.magnetometerStrength
      configuration.isVehicle = vehicle
      configuration.correlationTime = correlationTime
      configuration.leverArm = leverArm?.metres ?? board?.receiver?.leverArmMetres ?? .zero
      try navigate(
        &samples, GNSSRecording(path: gnss, headingOffsetDegrees: board?.receiver?.headingOffsetDegrees ?? 0),
        configuration, picture)
    } else {
      try orient(&samples, strength: calibration.magnetometerStrength, picture)
    }
  }

  /// - Parameter strength: the strength of the field that a calibrated magnetometer measures, in microtesla
  private func orient(_ samples: inout InertialRecording, strength: Double?, _ picture: ExportOutput?) throws {
    var output = FusedTable(frame: frame, hasPosition: false)
    let start = OrientationFilter(
      interval: samples.interval, magneticInterval: samples.magneticInterval, magneticStrength: strength)
    var filter = start
    var plausibility = InertialPlausibility()
    var fault: InertialFault?
    var drawing = FusedPlot()
    var last: Double?
    var section = 0
    while output.isTaken || picture != nil, let sample = samples.next() {
      if sample.section != section {
        // The recording's clock has restarted, so the fusion restarts too.
        section = sample.section
        filter = start
        plausibility = InertialPlausibility()
        last = nil
      }
      let seconds = last.map { sample.time - $0 } ?? samples.interval
      last = sample.time
      if plausibility.admits(
        gyroscope: sample.gyroscope, accelerometer: sample.accelerometer, seconds: seconds)
      {
        filter.update(
          gyroscope: sample.gyroscope, accelerometer: sample.accelerometer, magnetometer: sample.magnetometer,
          seconds: seconds)
      } else if plausibility.fault != .repeats {
        // Like the hub, discard everything learnt from a sensor with a wrong scale.
        filter = start
      }
      fault = fault ?? plausibility.fault
      try output.write(time: sample.time, attitude: filter.attitude)
      if picture != nil { drawing.add(time: sample.time, attitude: filter.attitude) }
    }
    try output.flush()
    if let picture { try drawing.write(to: picture) }
    summarize(bad: samples.badCount)
    if let fault { Terminal.standardError("imu: \(fault)") }
  }

  private func navigate(
    _ samples: inout InertialRecording, _ recording: GNSSRecording, _ configuration: NavigationFilter.Configuration,
    _ picture: ExportOutput?
  ) throws {
    var output = FusedTable(frame: frame, hasPosition: true)
    var filter = NavigationFilter(configuration)
    var drawing = FusedPlot()
    var fixes = recording
    var fix = fixes.next()
    var section = 0
    var refused = 0
    var fault: InertialFault?
    var isHeadingDoubted = false
    while output.isTaken || picture != nil, let sample = samples.next() {
      if sample.section != section {
        section = sample.section
        refused += filter.refusedCount
        isHeadingDoubted = isHeadingDoubted || filter.isHeadingDoubted
        filter = NavigationFilter(configuration)
      }
      while let stale = fix, stale.section < section {
        // The fix is later than the last sample of its section, so it is not used.
        refused += 1
        fix = fixes.next()
      }
      filter.update(
        gyroscope: sample.gyroscope, accelerometer: sample.accelerometer, magnetometer: sample.magnetometer,
        time: sample.time)
      fault = fault ?? filter.inertialFault
      while let due = fix, due.section == section, due.fix.time <= sample.time {
        filter.update(due.fix)
        fix = fixes.next()
      }
      try output.write(time: sample.time, filter)
      if picture != nil { drawing.add(time: sample.time, filter) }
    }
    try output.flush()
    if let picture { try drawing.write(to: picture) }
    summarize(bad: samples.badCount + fixes.badCount, refused: refused + filter.refusedCount)
    if let fault { Terminal.standardError("imu: \(fault)") }
    if isHeadingDoubted || filter.isHeadingDoubted {
      Terminal.standardError(
        "gnss: the headings contradict the fixes, so later headings were not fused: check 'headingOffsetDegrees'")
    }
  }

  /// Reports how many rows and fixes were left out, if any were.
  private func summarize(bad: Int, refused: Int = 0) {
    if bad > 0 || refused > 0 { Terminal.standardError("bad_rows=\(bad) refused_fixes=\(refused)") }
  }
}

/// A lever arm in the form `x,y,z`, in metres.
struct LeverArm: ExpressibleByArgument {
  var metres: SIMD3<Double>

  init?(argument: String) {
    let parts = argument.split(separator: ",", omittingEmptySubsequences: false).compactMap { Double($0) }
    guard parts.count == 3, parts.allSatisfy({ $0.isFinite && abs($0) < 1000 }) else { return nil }
    metres = SIMD3(parts[0], parts[1], parts[2])
  }
}
