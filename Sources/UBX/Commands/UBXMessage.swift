/// A message to a u-blox receiver. `bytes` is the message on the line.
public struct UBXMessage: Equatable, Sendable {
  /// The class in the upper byte, and the identifier in the lower one.
  public var kind: UInt16
  public var payload: [UInt8]

  public init(_ kind: UInt16, _ payload: [UInt8] = []) {
    self.kind = kind
    self.payload = payload
  }

  /// The message with sync characters, length and checksum.
  public var bytes: [UInt8] {
    var frame: [UInt8] = [0xB5, 0x62, UInt8(kind >> 8), UInt8(kind & 0xFF)]
    frame.append(littleEndian: UInt16(payload.count))
    frame += payload
    let sum = frame.withUnsafeBufferPointer { BinaryChecksum.fletcher($0[2...]) }
    return frame + [sum.0, sum.1]
  }
}

extension UBXMessage: CustomStringConvertible {
  /// A description such as `06 08 (6 bytes)`.
  public var description: String { "\(hex(kind >> 8)) \(hex(kind & 0xFF)) (\(payload.count) bytes)" }

  private func hex(_ byte: UInt16) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) }
}

extension [UInt8] {
  /// Appends a number, its lowest byte first.
  mutating func append<Number: FixedWidthInteger>(littleEndian number: Number) {
    Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
  }

  /// Reads a number inside a message; zero after its end.
  func littleEndian<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: Number.Type) -> Number {
    guard offset >= 0, offset + MemoryLayout<Number>.size <= count else { return 0 }
    return withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: type)) }
  }
}

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

/// Messages that put a receiver to sleep, and that restart it (u-blox M8 protocol description, 32.10.24 and 32.18.3).
extension UBXMessage {
  /// RXM-PMREQ in its first form, up to the eighth generation: backup until a byte arrives on the receiver's UART, and
  /// at most for this duration.
  public static func backup(milliseconds: UInt32) -> UBXMessage {
    var payload: [UInt8] = []
    payload.append(littleEndian: milliseconds)
    payload.append(littleEndian: UInt32(1 << 1))
    return UBXMessage(UBXCommandKind.rxmPMREQ, payload)
  }

  /// RXM-PMREQ in its second form, which states that the receiver's UART wakes the receiver. The flag `force` is set,
  /// because some receivers ignore the message without it.
  public static func forcedBackup(milliseconds: UInt32) -> UBXMessage {
    var payload: [UInt8] = [0, 0, 0, 0]
    payload.append(littleEndian: milliseconds)
    payload.append(littleEndian: UInt32(1 << 1 | 1 << 2))
    payload.append(littleEndian: UInt32(1 << 3))
    return UBXMessage(UBXCommandKind.rxmPMREQ, payload)
  }

  /// The actions of CFG-RST, which is not acknowledged.
  public enum Reset: UInt8, Sendable {
    /// The receiver stays powered and configured, but receives no signals.
    case stop = 8
    case start = 9
  }

  /// CFG-RST that keeps all data.
  public static func reset(_ reset: Reset) -> UBXMessage {
    UBXMessage(UBXCommandKind.cfgRST, [0, 0, reset.rawValue, 0])
  }

  /// The kinds of restart. The raw value is the mask of CFG-RST, which states the data that the receiver forgets.
  public enum Start: UInt16, Sendable {
    case hot = 0
    /// The receiver forgets its ephemerides.
    case warm = 0x0001
    case cold = 0xFFFF
  }

  /// CFG-RST. A hot or warm start restarts only the GNSS part of the receiver, so ports and settings stay unchanged. A
  /// cold start restarts the whole receiver, with its saved settings. The receiver does not acknowledge the message.
  public static func restart(_ start: Start) -> UBXMessage {
    var payload: [UInt8] = []
    payload.append(littleEndian: start.rawValue)
    return UBXMessage(UBXCommandKind.cfgRST, payload + [start == .cold ? 1 : 2, 0])
  }

  /// Bytes that wake a sleeping UART, and are not a message.
  public static let wakingBytes = [UInt8](repeating: 0xFF, count: 8)
}
