/// TIM-TP: the time of the next pulse, and its error. A pulse can begin only with a cycle of the receiver's clock,
/// hence the error; 16 bytes.
public struct TimePulse: Equatable, Sendable {
  /// The time of week by the base that `isUTC` names.
  public let timeOfWeekMilliseconds: UInt32
  /// The error of the pulse relative to its stated time, seconds; `nil` if it is unknown.
  public let quantisationErrorSeconds: Double?
  public let week: UInt16
  /// Whether the time is UTC; otherwise it is the time of a satellite system.
  public let isUTC: Bool

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.format == .ubx, message.kind == UBXKind.timTP, payload.count >= 16 else { return nil }
    timeOfWeekMilliseconds = payload.uint32(0)
    let flags = payload.uint8(14)
    quantisationErrorSeconds = flags & 0x10 == 0 ? Double(payload.int32(8)) * 1e-12 : nil
    week = payload.uint16(12)
    isUTC = flags & 1 != 0
  }
}

/// CASIC's TIM-TP; 24 bytes.
public struct CASICTimePulse: Equatable, Sendable {
  public let runTimeMilliseconds: UInt32
  public let quantisationErrorSeconds: Double

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.format == .casic, message.kind == CASICKind.timTP, payload.count >= 24 else { return nil }
    runTimeMilliseconds = payload.uint32(0)
    quantisationErrorSeconds = Double(payload.float(4))
    guard abs(quantisationErrorSeconds) < 1 else { return nil }
  }
}
