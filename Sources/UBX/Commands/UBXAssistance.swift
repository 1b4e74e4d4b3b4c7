/// Time and position for a receiver, and the receiver's report of its own knowledge (u-blox M8 protocol description,
/// 32.16 and 32.21; F9 and M10 have the same).
extension UBXMessage {
  /// MGA-INI-TIME_UTC: the time at which this message arrives. How many leap seconds there are is left to the receiver.
  ///
  /// - Parameter accuracyNanoseconds: one standard deviation; whole seconds beyond 65535 are cut to that
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

  /// MGA-INI-POS_LLH.
  ///
  /// - Parameters:
  ///   - altitudeMetres: above the ellipsoid
  ///   - accuracyMetres: one standard deviation
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

  /// MGA-DBD, asked for: each thing that the receiver knows comes in a message, in a form that the receiver alone understands.
  public static let databaseRequest = UBXMessage(UBXCommandKind.mgaDBD)

  /// MGA-DBD, given back: a payload as it came.
  public static func database(_ payload: [UInt8]) -> UBXMessage { UBXMessage(UBXCommandKind.mgaDBD, payload) }

  /// CFG-NAVX5 of protocols below 27: assistance is acknowledged, and nothing else is changed.
  ///
  /// - Parameter version: of the message: 0 for protocols before 18, then 2
  public static func acknowledgesAiding(version: UInt8) -> UBXMessage {
    var payload = [UInt8](repeating: 0, count: 40)
    payload[0] = version
    // Bit 10 of the first mask.
    payload[3] = 0x04
    payload[17] = 1
    return UBXMessage(UBXCommandKind.cfgNAVX5, payload)
  }

  /// The actions of UPD-SOS on the receiver's saved knowledge. The receiver must be stopped before it saves.
  public enum ShutdownBackup: UInt8, Sendable {
    case create = 0
    case clear = 1
  }

  /// UPD-SOS: in the receiver's flash. `create` is answered by a message that begins with `createdBackup`.
  public static func shutdownBackup(_ action: ShutdownBackup) -> UBXMessage {
    UBXMessage(UBXCommandKind.updSOS, [action.rawValue, 0, 0, 0])
  }

  public static let createdBackup: [UInt8] = [2]

  /// UPD-SOS, asked what became of the backup at the last start: answered by a message that begins with `restoredBackup`.
  public static let shutdownBackupRequest = UBXMessage(UBXCommandKind.updSOS)

  public static let restoredBackup: [UInt8] = [3]
}

/// MGA-ACK-DATA0: what became of a message of assistance.
public struct UBXAidingAcknowledgement: Equatable, Sendable {
  public let isUsed: Bool
  /// Of the message that is answered; of the answer to `databaseRequest` it is the last message.
  public let kind: UInt16

  /// `nil` for other messages.
  public init?(_ frame: BinaryFrame) {
    guard frame.format == .ubx, frame.kind == UBXCommandKind.mgaACK, frame.payload.count >= 8 else { return nil }
    isUsed = frame.payload.uint8(0) == 1
    kind = 0x1300 | UInt16(frame.payload.uint8(3))
  }
}
