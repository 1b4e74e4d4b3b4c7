/// RXM-RTCM: the receiver's report about a correction message that it has read; 8 bytes, from protocol 20 on in
/// receivers that accept corrections (u-blox F9 interface description, UBX-RXM-RTCM).
public struct CorrectionReport: Equatable, Sendable {
  public enum Outcome: Sendable {
    /// The message had a wrong checksum.
    case damaged
    /// The message was read, and the receiver does not say whether it used it; a NEO-M8P never does.
    case unknown
    case unused
    case used
  }

  public let outcome: Outcome
  /// The number of the RTCM 3 message.
  public let messageNumber: UInt16

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.format == .ubx, message.kind == UBXKind.rxmRTCM, payload.count >= 8 else { return nil }
    messageNumber = payload.uint16(6)
    let flags = payload.uint8(1)
    outcome =
      switch (flags & 1, flags >> 1 & 3) {
      case (1, _): .damaged
      case (_, 1): .unused
      case (_, 2): .used
      default: .unknown
      }
  }
}
