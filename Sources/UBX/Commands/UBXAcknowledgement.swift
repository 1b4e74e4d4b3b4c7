/// ACK-ACK or ACK-NAK: the result of a setting (u-blox M8 protocol description, 32.8).
public struct UBXAcknowledgement: Equatable, Sendable {
  public let isAccepted: Bool
  /// The kind of the answered message.
  public let kind: UInt16

  /// `nil` for other messages.
  public init?(_ frame: BinaryFrame) {
    guard frame.format == .ubx, frame.payload.count >= 2,
      frame.kind == UBXCommandKind.ackACK || frame.kind == UBXCommandKind.ackNAK
    else { return nil }
    isAccepted = frame.kind == UBXCommandKind.ackACK
    kind = UInt16(frame.payload.uint8(0)) << 8 | UInt16(frame.payload.uint8(1))
  }
}

extension BinaryFrame {
  /// A copy of the payload that can be kept. It allocates, so do not use it for messages of every epoch.
  public var payloadCopy: [UInt8] { (0..<payload.count).map { payload.uint8($0) } }
}
