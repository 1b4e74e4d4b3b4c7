/// NAV-SAT and, for receivers up to protocol 14, NAV-SVINFO: the satellites in view.
public struct NavigationSatellites {
  public struct Entry {
    /// u-blox's number of the system; `nil` in NAV-SVINFO, whose satellite numbers identify it.
    public let system: UInt8?
    public let number: UInt8
    public let signalStrength: UInt8
    /// The elevation, -90 to 90; 0, like the azimuth, if the direction is unknown.
    public let elevationDegrees: Int8
    /// The azimuth, 0 to 360.
    public let azimuthDegrees: UInt16
    public let isUsed: Bool
  }

  public let timeOfWeekMilliseconds: UInt32
  public let count: Int
  private let payload: LittleEndianBytes
  private let hasSystems: Bool

  public init?(_ message: borrowing BinaryFrame) {
    payload = message.payload
    guard payload.count >= 8 else { return nil }
    timeOfWeekMilliseconds = payload.uint32(0)
    let room = (payload.count - 8) / 12
    switch message.kind {
    case UBXKind.navSAT:
      hasSystems = true
      count = min(Int(payload.uint8(5)), room)
    case UBXKind.navSVINFO:
      hasSystems = false
      count = min(Int(payload.uint8(4)), room)
    default: return nil
    }
  }

  /// - Precondition: `index` is below `count`.
  public subscript(index: Int) -> Entry {
    let start = 8 + 12 * index
    if hasSystems {
      let direction = payload.satelliteDirection(start + 3)
      return Entry(
        system: payload.uint8(start), number: payload.uint8(start + 1), signalStrength: payload.uint8(start + 2),
        elevationDegrees: direction.elevation, azimuthDegrees: direction.azimuth,
        isUsed: payload.uint32(start + 8) & 8 != 0)
    }
    let direction = payload.satelliteDirection(start + 5)
    return Entry(
      system: nil, number: payload.uint8(start + 1), signalStrength: payload.uint8(start + 4),
      elevationDegrees: direction.elevation, azimuthDegrees: direction.azimuth,
      isUsed: payload.uint8(start + 2) & 1 != 0)
  }
}

extension LittleEndianBytes {
  /// Reads a satellite's elevation, one byte, and azimuth, two bytes. A value out of range marks the direction as unknown
  /// (u-blox F9 interface description, UBX-NAV-SAT); both are 0 then.
  func satelliteDirection(_ offset: Int) -> (elevation: Int8, azimuth: UInt16) {
    let (elevation, azimuth) = (int8(offset), int16(offset + 1))
    guard abs(Int(elevation)) <= 90, (0...360).contains(azimuth) else { return (0, 0) }
    return (elevation, UInt16(azimuth))
  }
}

/// NAV-SIG: the signals in view, several per satellite; from protocol 27 on. 8 bytes, and 16 for each.
public struct NavigationSignals {
  public struct Entry: Equatable, Sendable {
    /// u-blox's number of the system.
    public let system: UInt8
    /// The number of the satellite inside its system.
    public let number: UInt8
    /// u-blox's number of the signal inside the system; 0 is the first civil signal.
    public let signal: UInt8
    /// The carrier to noise density, dB-Hz; 0 while not tracked.
    public let signalStrength: UInt8
    /// Whether the range, the carrier or the Doppler is part of the solution. NAV-SAT has the same flag per satellite.
    public let isUsed: Bool
  }

  public let timeOfWeekMilliseconds: UInt32
  public let count: Int
  private let payload: LittleEndianBytes

  public init?(_ message: borrowing BinaryFrame) {
    payload = message.payload
    guard message.format == .ubx, message.kind == UBXKind.navSIG, payload.count >= 8, payload.uint8(4) == 0 else {
      return nil
    }
    timeOfWeekMilliseconds = payload.uint32(0)
    count = min(Int(payload.uint8(5)), (payload.count - 8) / 16)
  }

  /// - Precondition: `index` is below `count`.
  public subscript(index: Int) -> Entry {
    let start = 8 + 16 * index
    return Entry(
      system: payload.uint8(start), number: payload.uint8(start + 1), signal: payload.uint8(start + 2),
      signalStrength: payload.uint8(start + 6), isUsed: payload.uint16(start + 10) & 0x38 != 0)
  }
}
