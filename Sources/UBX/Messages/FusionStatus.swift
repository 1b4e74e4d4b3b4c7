/// The state of a receiver's own inertial fusion, numbered as u-blox does.
public enum FusionMode: UInt8, Sendable {
  /// The receiver is determining its mounting and the quality of its sensors.
  case initializing = 0
  /// The sensors are part of the solution.
  case fusing = 1
  /// Suspended, because the sensors contradict the satellites: the vehicle is on a ferry, for example.
  case suspended = 2
  /// Disabled until the next restart.
  case disabled = 3
}

/// The fusion mode from ESF-STATUS, which also has the state of each sensor; 16 bytes, and 4 for each sensor (interface
/// descriptions of NEO-M8U and ZED-F9R, UBX-ESF-STATUS). Other messages carry the measurements of the sensors
/// (ESF-MEAS, ESF-INS).
public struct FusionStatus {
  public let mode: FusionMode

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.format == .ubx, message.kind == UBXKind.esfSTATUS, payload.count >= 16,
      let mode = FusionMode(rawValue: payload.uint8(12))
    else { return nil }
    self.mode = mode
  }
}
