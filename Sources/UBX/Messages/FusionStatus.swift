/// What a receiver with inertial sensors of its own makes of them, numbered as u-blox does.
public enum FusionMode: UInt8, Sendable {
  /// It finds out how it is mounted and what its sensors are worth.
  case initializing = 0
  /// They are part of the solution.
  case fusing = 1
  /// Not at present, as what they say does not fit: the vehicle is on a ferry, say.
  case suspended = 2
  /// Not until it is started anew.
  case disabled = 3
}

/// ESF-STATUS: the same, and the state of each sensor; 16 bytes, and 4 for each (interface descriptions of NEO-M8U and ZED-F9R,
/// UBX-ESF-STATUS). What the sensors measure is in other messages (ESF-MEAS, ESF-INS).
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
