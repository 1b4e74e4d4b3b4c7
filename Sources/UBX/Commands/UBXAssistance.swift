/// Messages that give a receiver the time, its position and its earlier satellite data, and that request this data or
/// store it in the receiver's flash (u-blox M8 protocol description, 32.16 and 32.21; F9 and M10 have the same
/// messages).
extension UBXMessage {
  /// MGA-INI-TIME_UTC: the time at which this message arrives. The receiver itself decides about leap seconds.
  ///
  /// - Parameter accuracyNanoseconds: the standard deviation; at most 65535 whole seconds
  public static func time(
    year: UInt16, month: UInt8, day: UInt8, hour: UInt8, minute: UInt8, second: UInt8, nanosecond: UInt32,
    accuracyNanoseconds: Int64
  ) -> UBXMessage {
    let unknownLeapSeconds = UInt8(bitPattern: -128)
    var payload: [UInt8] = [0x10, 0, 0, unknownLeapSeconds]
    payload.append(littleEndian: year)
    payload += [month, day, hour, minute, second, 0]
    payload.append(littleEndian: nanosecond)
    payload.append(littleEndian: UInt16(clamping: accuracyNanoseconds / 1_000_000_000))
    payload += [0, 0]
    payload.append(littleEndian: UInt32(clamping: accuracyNanoseconds % 1_000_000_000))
    return UBXMessage(UBXCommandKind.mgaINI, payload)
  }

  /// MGA-INI-POS_LLH: the position.
  ///
  /// - Parameters:
  ///   - altitudeMetres: the height above the ellipsoid
  ///   - accuracyMetres: the standard deviation
  public static func place(
    latitudeDegrees: Double, longitudeDegrees: Double, altitudeMetres: Double, accuracyMetres: Double
  ) -> UBXMessage {
    var payload: [UInt8] = [0x01, 0, 0, 0]
    payload.append(littleEndian: scaled(latitudeDegrees, by: 1e7))
    payload.append(littleEndian: scaled(longitudeDegrees, by: 1e7))
    payload.append(littleEndian: scaled(altitudeMetres, by: 100))
    payload.append(littleEndian: UInt32(max(0, min(4e9, accuracyMetres * 100)).rounded(.up)))
    return UBXMessage(UBXCommandKind.mgaINI, payload)
  }

  private static func scaled(_ value: Double, by factor: Double) -> Int32 {
    let scaled = (value * factor).rounded()
    return scaled.magnitude < 2e9 ? Int32(scaled) : 0
  }

  /// The request for MGA-DBD. The receiver sends each item of its navigation database in a message that only the
  /// receiver understands.
  public static let databaseRequest = UBXMessage(UBXCommandKind.mgaDBD)

  /// MGA-DBD with a payload that the receiver sent earlier.
  public static func database(_ payload: [UInt8]) -> UBXMessage { UBXMessage(UBXCommandKind.mgaDBD, payload) }

  /// CFG-NAVX5 for protocols below 27. It makes the receiver acknowledge assistance, and changes nothing else.
  ///
  /// - Parameter version: the version of the message: 0 for protocols before 18, then 2
  public static func acknowledgesAiding(version: UInt8) -> UBXMessage {
    var payload = [UInt8](repeating: 0, count: 40)
    payload[0] = version
    // This is bit 10 of the first mask.
    payload[3] = 0x04
    payload[17] = 1
    return UBXMessage(UBXCommandKind.cfgNAVX5, payload)
  }

  /// The actions of UPD-SOS on the receiver's saved data. The receiver must be stopped before it saves.
  public enum ShutdownBackup: UInt8, Sendable {
    case create = 0
    case clear = 1
  }

  /// UPD-SOS about the backup in the receiver's flash. The answer to `create` is a message that begins with
  /// `createdBackup`.
  public static func shutdownBackup(_ action: ShutdownBackup) -> UBXMessage {
    UBXMessage(UBXCommandKind.updSOS, [action.rawValue, 0, 0, 0])
  }

  public static let createdBackup: [UInt8] = [2]

  /// UPD-SOS that asks whether the receiver restored the backup at its last start. The answer is a message that begins
  /// with `restoredBackup`.
  public static let shutdownBackupRequest = UBXMessage(UBXCommandKind.updSOS)

  public static let restoredBackup: [UInt8] = [3]
}

/// MGA-ACK-DATA0: the result of an assistance message.
public struct UBXAidingAcknowledgement: Equatable, Sendable {
  public let isUsed: Bool
  /// The kind of the answered message. For `databaseRequest`, the acknowledgement is the last message of the answer.
  public let kind: UInt16

  /// `nil` for other messages.
  public init?(_ frame: BinaryFrame) {
    guard frame.format == .ubx, frame.kind == UBXCommandKind.mgaACK, frame.payload.count >= 8 else { return nil }
    isUsed = frame.payload.uint8(0) == 1
    kind = 0x1300 | UInt16(frame.payload.uint8(3))
  }
}
