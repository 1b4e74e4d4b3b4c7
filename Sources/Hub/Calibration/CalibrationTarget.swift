/// Why a calibration is impossible, and the next step.
public struct CalibrationRefusal: Error, Equatable, CustomStringConvertible {
  public enum Reason: String, Equatable, Sendable {
    /// The request cannot be met: a device is missing or of the wrong kind, or the values give no result.
    case input
    case busy
    case noPermission
  }

  public var reason: Reason
  public var message: String
  public var nextStep: String

  public init(_ message: String, reason: Reason = .input, nextStep: String) {
    self.reason = reason
    self.message = message
    self.nextStep = nextStep
  }

  /// The refusal because another calibration is running.
  ///
  /// - Parameter holder: the client that started the other one, if known
  public static func busy(with holder: String?) -> CalibrationRefusal {
    CalibrationRefusal(
      "another calibration is in progress\(holder.map { ", started by \($0)" } ?? "")", reason: .busy,
      nextStep: "wait until it ends, or stop it")
  }

  public var description: String { message }
}

extension Board {
  /// The chip that a calibration is for.
  ///
  /// - Parameters:
  ///   - id: the device's ID; `nil` for the preferred one
  ///   - isRecorded: whether the data is an IMU's recording, which may also contain the field of a magnetometer
  /// - Throws: if the board has no such device, if the device cannot have this calibration, or if a receiver is missing
  public func device(
    for kind: CalibrationKind, named id: String?, isRecorded: Bool = false
  ) throws(CalibrationRefusal) -> DeviceDescription {
    if let id, !devices.contains(where: { $0.id == id }) {
      throw CalibrationRefusal(
        "the board '\(name)' has no device '\(id)'",
        nextStep: "valid ones are " + devices.map(\.id).joined(separator: ", "))
    }
    let needed = kind == .mag && !isRecorded ? DeviceStatus.Kind.magnetometer : .imu
    let usual = kind == .mag ? [magnetometer?.id, imu?.id] : [imu?.id]
    let wanted = id ?? usual.lazy.compactMap { $0 }.first
    let chip = devices.first { $0.id == wanted }
    let isMagnetometer = kind == .mag && chip?.kind == .magnetometer
    guard let chip, chip.place != nil, chip.kind == needed || isMagnetometer else {
      let what = needed == .imu ? "an IMU" : "a magnetometer"
      let noun = needed == .imu ? "IMU" : "magnetometer"
      throw CalibrationRefusal(
        id.map { "'\($0)' is not \(what)" } ?? "the board '\(name)' has no \(noun)",
        nextStep: "add one to 'devices' in the board file; sensorhub chips lists the chips")
    }
    if kind == .mount, !isRecorded, receiver == nil {
      throw CalibrationRefusal(
        "mount needs a receiver, and the board has none",
        nextStep: "add one to 'devices' in the board file: gps: { driver: \"nmea\", port: … }")
    }
    return chip
  }
}
