import Fusion
import Glibc
import HardwareIO
import Hub

/// The folder of calibrations, with one file per chip.
struct CalibrationFolder: CalibrationStore {
  /// The service's folder, which the installation makes.
  static let ofService = "/var/lib/sensorhub/calibration"

  /// The service's folder if it exists and `STATE_DIRECTORY` is not set, because a chip has one calibration for all
  /// programs. Otherwise the folder below `StateFolder.path`; `nil` if there is neither.
  static var path: String? {
    let own = StateFolder.path.map { "\($0)/calibration" }
    return getenv("STATE_DIRECTORY") == nil && access(ofService, F_OK) == 0 ? ofService : own
  }

  /// - Returns: the path of a chip's file; `nil` if there is no folder
  static func file(for place: I2CAddress) -> String? { path.map { "\($0)/\(place.identifier).json5" } }

  func store(_ session: CalibrationSession, of chip: DeviceDescription) throws(CalibrationRefusal) -> StoredCalibration
  {
    let lock = try CalibrationFolder.lock(waits: true)
    defer { close(lock) }
    return try CalibrationFolder.add(session, of: chip)
  }

  func store(_ refined: MagneticOffsetRefiner.Result, of chip: DeviceDescription) throws(CalibrationRefusal)
    -> StoredCalibration
  {
    let lock = try CalibrationFolder.lock(waits: true)
    defer { close(lock) }
    return try CalibrationFolder.change(chip) { known throws(CalibrationRefusal) in
      let (now, before) = (known.values, refined.replaced)
      guard now.magnetometerOffset == before.magnetometerOffset, now.magnetometerMatrix == before.magnetometerMatrix
      else {
        throw CalibrationRefusal(
          "another calibration was stored in the meantime", nextStep: "reload the hub to use the other calibration")
      }
      known.values.magnetometerOffset = refined.offset
      let entry = ChipCalibration.Entry(at: Int64(time(nil)), quality: refined.quality)
      known.entries[.mag] = entry
      return entry
    }
  }

  /// Adds a result to the chip's file. The caller must hold the lock.
  static func add(_ session: CalibrationSession, of chip: DeviceDescription) throws(CalibrationRefusal)
    -> StoredCalibration
  {
    try change(chip) { known throws(CalibrationRefusal) in
      if session.store(in: &known, at: Int64(time(nil))), let entry = known.entries[session.kind] { return entry }
      if session.progress >= 1 {
        throw CalibrationRefusal(
          "the measurements do not allow a result for \(session.kind.rawValue)",
          nextStep: "try again, slowly, away from iron and engines")
      }
      throw CalibrationRefusal(
        session.problem.map { "no result: \($0)" }
          ?? "no result: \(Int(session.progress * 100)) % of what \(session.kind.rawValue) needs",
        nextStep: session.instruction)
    }
  }

  /// Reads a chip's file, changes its contents and writes it.
  private static func change(
    _ chip: DeviceDescription,
    _ change: (inout ChipCalibration) throws(CalibrationRefusal) -> ChipCalibration.Entry
  ) throws(CalibrationRefusal) -> StoredCalibration {
    guard let place = chip.place else {
      throw CalibrationRefusal(
        "'\(chip.id)' is not a chip", nextStep: "sensorhub chips lists the chips that can be calibrated")
    }
    guard let path, let file = CalibrationFolder.file(for: place) else { throw nowhere }
    var known: ChipCalibration
    do throws(BoardError) {
      known = try ChipCalibration(file: file)
    } catch {
      throw CalibrationRefusal("\(error)", nextStep: "correct the file, or remove it")
    }
    let entry = try change(&known)
    do {
      try known.write(to: file)
    } catch {
      throw CalibrationRefusal("\(error)", nextStep: "check the free space: df \(path)")
    }
    return StoredCalibration(file: file, quality: entry.quality)
  }

  /// Locks the calibrations: only one may run at a time, in this process or another.
  ///
  /// - Parameter waits: whether to wait until another calibration has ended; otherwise an error is thrown
  /// - Returns: a descriptor; closing it releases the lock
  static func lock(waits: Bool) throws(CalibrationRefusal) -> Int32 {
    guard let path else { throw nowhere }
    let folder: Folder
    do throws(StateFolder.AccessError) {
      folder = try StateFolder.open(path)
    } catch {
      throw refusal("\(error)")
    }
    do throws(Files.Errno) {
      if let lock = try folder.lock("lock", waits: waits) { return lock }
    } catch {
      throw refusal("cannot write in \(path): \(error)")
    }
    throw CalibrationRefusal.busy(with: FileHolder.find("\(path)/lock"))
  }

  private static var nowhere: CalibrationRefusal {
    CalibrationRefusal(
      "the calibration cannot be stored, because this user has no home folder", reason: .noPermission,
      nextStep: "name a folder in STATE_DIRECTORY")
  }

  private static func refusal(_ message: String) -> CalibrationRefusal {
    CalibrationRefusal(
      message, reason: .noPermission,
      nextStep: path == ofService
        ? "start the hub and try again, so that the hub calibrates: sudo systemctl start sensorhub; or: sudo -u sensorhub sensorhub calibrate …"
        : "set XDG_STATE_HOME to a folder of your own")
  }
}
