/// A message to a CASIC receiver (CASIC protocol specification 4.2, 2.2). `bytes` is the message on the line.
public struct CASICMessage: Equatable, Sendable {
  /// The class in the upper byte, and the identifier in the lower one.
  public var kind: UInt16
  /// The payload, a multiple of four bytes.
  public var payload: [UInt8]

  init(_ kind: UInt16, _ payload: [UInt8]) {
    self.kind = kind
    self.payload = payload
  }

  /// The message with sync characters, length and checksum.
  public var bytes: [UInt8] {
    var frame: [UInt8] = [0xBA, 0xCE]
    frame.append(littleEndian: UInt16(payload.count))
    frame += [UInt8(kind >> 8), UInt8(kind & 0xFF)] + payload
    let sum = frame.withUnsafeBufferPointer {
      BinaryChecksum.words(LittleEndianBytes($0), 6..<6 + payload.count)
    }
    frame.append(littleEndian: sum)
    return frame
  }

  /// CFG-RATE: the interval between two solutions.
  public static func rate(milliseconds: UInt16) -> CASICMessage {
    CASICMessage(0x0604, [UInt8(milliseconds & 0xFF), UInt8(milliseconds >> 8), 0, 0])
  }

  /// CFG-NAVX with only the dynamic model.
  public static func dynamicModel(_ model: UInt8) -> CASICMessage { navigation(mask: 1, model: model, systems: 0) }

  /// CFG-NAVX with only the constellations.
  ///
  /// - Parameter systems: bit 0 GPS, bit 1 BeiDou, bit 2 GLONASS
  public static func systems(_ systems: UInt8) -> CASICMessage { navigation(mask: 1 << 8, model: 0, systems: systems) }

  private static func navigation(mask: UInt16, model: UInt8, systems: UInt8) -> CASICMessage {
    var payload = [UInt8](repeating: 0, count: 44)
    (payload[0], payload[1]) = (UInt8(mask & 0xFF), UInt8(mask >> 8))
    payload[4] = model
    payload[13] = systems
    return CASICMessage(0x0607, payload)
  }

  /// CFG-CFG that saves the whole present configuration.
  public static let save = CASICMessage(0x0605, [0xFF, 0xFF, 1, 0])

  /// The known time and position of a receiver, for AID-INI.
  public struct Assistance: Sendable {
    /// The GPS time when the message arrives: weeks since 1980-01-06, seconds in the week, and the standard deviation.
    public var time: (week: UInt16, seconds: Double, sigmaSeconds: Double)?
    /// The position and its standard deviation; the altitude is above the ellipsoid, and `nil` if unknown.
    public var place: (latitudeDegrees: Double, longitudeDegrees: Double, altitudeMetres: Double?, sigmaMetres: Double)?

    public init() {}
  }

  /// AID-INI: the known time and position.
  public static func assistance(_ known: Assistance) -> CASICMessage {
    // The flag 0x20 says that the position is in degrees. The other flags say which values are known.
    var flags: UInt8 = 0x20
    var payload: [UInt8] = []
    let place = known.place
    if place != nil { flags |= 0x01 }
    if known.time != nil { flags |= 0x02 }
    if place?.altitudeMetres == nil { flags |= 0x40 }
    for value in [place?.latitudeDegrees, place?.longitudeDegrees, place?.altitudeMetres, known.time?.seconds] {
      payload.append(littleEndian: (value ?? 0).bitPattern)
    }
    // The first value, the frequency error of the receiver's clock, is unknown. The other values are variances.
    let variances = [0, square(place?.sigmaMetres), square(known.time?.sigmaSeconds), 0]
    for value in variances { payload.append(littleEndian: Float(value).bitPattern) }
    payload += [0, 0, 0, 0]
    payload.append(littleEndian: known.time?.week ?? 0)
    return CASICMessage(0x0B01, payload + [0, flags])
  }

  private static func square(_ sigma: Double?) -> Double { sigma.map { $0 * $0 } ?? 0 }
}

/// ACK-ACK or ACK-NACK of the CASIC protocol.
public struct CASICAcknowledgement: Equatable, Sendable {
  public let isAccepted: Bool
  /// The kind of the answered message.
  public let kind: UInt16

  /// `nil` for other messages.
  public init?(_ frame: BinaryFrame) {
    guard frame.format == .casic, frame.payload.count >= 4, frame.kind == 0x0500 || frame.kind == 0x0501 else {
      return nil
    }
    isAccepted = frame.kind == 0x0501
    kind = UInt16(frame.payload.uint8(0)) << 8 | UInt16(frame.payload.uint8(1))
  }
}
