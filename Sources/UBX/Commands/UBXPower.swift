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
