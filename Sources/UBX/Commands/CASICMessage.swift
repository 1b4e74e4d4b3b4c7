/// A message to a CASIC receiver (CASIC protocol specification 4.2, 2.2). `bytes` is what goes over the line.
public struct CASICMessage: Equatable, Sendable {
  /// Class and identifier, the class in the upper byte.
  public var kind: UInt16
  /// Whole words.
  public var payload: [UInt8]

  init(_ kind: UInt16, _ payload: [UInt8]) {
    self.kind = kind
    self.payload = payload
  }

  /// With sync characters, length and checksum.
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

  /// CFG-RATE.
  public static func rate(milliseconds: UInt16) -> CASICMessage {
    CASICMessage(0x0604, [UInt8(milliseconds & 0xFF), UInt8(milliseconds >> 8), 0, 0])
  }

  /// CFG-NAVX, the dynamic model alone.
  public static func dynamicModel(_ model: UInt8) -> CASICMessage { navigation(mask: 1, model: model, systems: 0) }

  /// CFG-NAVX, the constellations alone.
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

  /// CFG-CFG: keeps all of the present configuration.
  public static let save = CASICMessage(0x0605, [0xFF, 0xFF, 1, 0])
}

/// ACK-ACK or ACK-NACK of the CASIC protocol.
public struct CASICAcknowledgement: Equatable, Sendable {
  public let isAccepted: Bool
  /// Of the message that is answered.
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
