import Fusion
import Glibc
import HardwareIO

/// All calibrations of one chip, as stored in its JSON5 file.
public struct ChipCalibration: Equatable, Sendable {
  /// When one calibration was made, and how good it is.
  public struct Entry: Equatable, Sendable {
    /// The time in seconds since 1970.
    public var at: Int64
    /// The remaining error after correction: rad/s for the gyroscope, m/s² for the accelerometer, relative for the
    /// magnetometer. For the mount it is the share of the accelerations that was horizontal, from 0 to 1 (best).
    public var quality: Double

    public init(at: Int64, quality: Double) {
      self.at = at
      self.quality = quality
    }
  }

  public var values = InertialCalibration()
  public var mount: MountMatrix?
  public var entries: [CalibrationKind: Entry] = [:]

  /// The largest accepted number. It is far beyond what any chip needs, and arithmetic with it stays finite.
  private static let largestNumber = 1e6

  public init() {}

  /// Reads a chip's file. If there is no file, the chip is not calibrated.
  public init(file: String) throws(BoardError) {
    let bytes: [UInt8]
    do throws(Files.Errno) {
      bytes = try Files.bytes(ofOwn: file, limit: 1 << 16)
    } catch {
      if error.rawValue == ENOENT {
        self.init()
        return
      }
      throw .unreadable(file: file, reason: "\(error)")
    }
    try self.init(json5: bytes, file: file)
  }

  /// - Parameter file: the file's name in error messages
  public init(json5 bytes: [UInt8], file: String) throws(BoardError) {
    var root = try BoardSection(json5: bytes, file: file)
    if var gyro = try root.section("gyro") {
      values.gyroscopeBias = try gyro.vector("bias", limit: ChipCalibration.largestNumber) ?? .zero
      try finish(&gyro, .gyro)
    }
    if var accel = try root.section("accel") {
      values.accelerometerOffset = try accel.vector("offset", limit: ChipCalibration.largestNumber) ?? .zero
      values.accelerometerScale = try accel.vector("scale", limit: ChipCalibration.largestNumber) ?? SIMD3(1, 1, 1)
      try finish(&accel, .accel)
    }
    if var mag = try root.section("mag") {
      values.magnetometerOffset = try mag.vector("offset", limit: ChipCalibration.largestNumber) ?? .zero
      for (index, key) in ["row0", "row1", "row2"].enumerated() {
        if let row = try mag.vector(key, limit: ChipCalibration.largestNumber) {
          values.magnetometerMatrix[index] = row
        }
      }
      values.magnetometerStrength = try mag.number("strength", in: 1...1000)
      try finish(&mag, .mag)
    }
    if var section = try root.section("mount") {
      mount = try section.rotation("rows")
      try finish(&section, .mount)
    }
    try root.finish()
  }

  private mutating func finish(_ section: inout BoardSection, _ kind: CalibrationKind) throws(BoardError) {
    let at = try section.number("at", in: 0...1e11) ?? 0
    entries[kind] = Entry(at: Int64(at), quality: try section.number("quality", in: 0...1e6) ?? 0)
    try section.finish()
  }

  /// Writes a new file next to the old one and then replaces it, so that one of the two is complete at any instant.
  public func write(to file: String) throws(HardwareError) {
    do throws(Files.Errno) {
      // The service's umask makes files private, but the commands of other users must be able to read this file.
      try Files.replace(file, with: Array(json5.utf8), isForAll: true)
    } catch {
      throw .system("writing \(file)", errno: error.rawValue)
    }
  }

  /// The text of the file.
  public var json5: String {
    func vector(_ v: SIMD3<Double>) -> String { "[\(v.x), \(v.y), \(v.z)]" }
    func section(_ kind: CalibrationKind, _ members: [(String, String)]) -> String? {
      entries[kind].map { entry in
        let all = [("at", "\(entry.at)"), ("quality", "\(entry.quality)")] + members
        return "  \(kind.rawValue): {\n" + all.map { "    \($0.0): \($0.1),\n" }.joined() + "  },\n"
      }
    }
    let matrix = values.magnetometerMatrix
    let sections = [
      section(.gyro, [("bias", vector(values.gyroscopeBias))]),
      section(
        .accel, [("offset", vector(values.accelerometerOffset)), ("scale", vector(values.accelerometerScale))]),
      section(
        .mag,
        [
          ("offset", vector(values.magnetometerOffset)), ("row0", vector(matrix[0])), ("row1", vector(matrix[1])),
          ("row2", vector(matrix[2])),
        ] + (values.magnetometerStrength.map { [("strength", "\($0)")] } ?? [])),
      section(.mount, mount.map { [("rows", "[" + $0.vectors.map(vector).joined(separator: ", ") + "]")] } ?? []),
    ]
    return "// Written by sensorhub calibrate. In rad/s, m/s² and µT; at in seconds since 1970.\n{\n"
      + sections.compactMap { $0 }.joined() + "}\n"
  }
}

/// A hub's store of the calibrations of its chips.
public protocol CalibrationStore: Sendable {
  /// Adds the result of a calibration to a chip's calibration. Waits for the disk.
  func store(_ session: CalibrationSession, of chip: DeviceDescription) throws(CalibrationRefusal) -> StoredCalibration
  /// Replaces an offset with its refinement. Refuses if another offset has been stored since the refinement began.
  /// Waits for the disk.
  func store(_ refined: MagneticOffsetRefiner.Result, of chip: DeviceDescription) throws(CalibrationRefusal)
    -> StoredCalibration
}

/// Where the result of a calibration was stored, and its quality.
public struct StoredCalibration: Equatable, Sendable {
  public var file: String
  /// The quality; see `ChipCalibration.Entry`.
  public var quality: Double

  public init(file: String, quality: Double) {
    self.file = file
    self.quality = quality
  }
}
