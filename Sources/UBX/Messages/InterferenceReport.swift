/// A receiver's report of jamming, numbered as u-blox and Airoha do.
public enum JammingReport: UInt8, Equatable, Sendable {
  /// Detection is off, or has no result yet.
  case unknown = 0
  case none = 1
  /// There is interference, and still a fix.
  case warning = 2
  /// There is interference, and therefore no fix.
  case critical = 3
}

/// A receiver's report of spoofing, numbered as u-blox does.
public enum SpoofingReport: UInt8, Equatable, Sendable {
  case unknown = 0
  case none = 1
  case indicated = 2
  /// Several signs indicate spoofing, or it is confirmed.
  case multiple = 3
}

/// A receiver's report about its antenna, numbered as u-blox does. A receiver that measures the antenna's current
/// reports an antenna without current as open. u-blox's 0, before the first measurement, counts as unknown.
public enum AntennaStatus: UInt8, Equatable, Sendable {
  case unknown = 1
  case good = 2
  case short = 3
  case open = 4
}

/// MON-RF: the radio's state, band by band; 4 bytes, and 24 for each band.
public struct RadioStatus {
  public struct Band: Equatable, Sendable {
    public let jamming: JammingReport
    public let antennaStatus: AntennaStatus
    /// The power of the antenna: 0 off, 1 on, 2 unknown.
    public let antennaPower: UInt8
    public let noisePerMillisecond: UInt16
    /// The automatic gain control, 0 to 8191.
    public let gain: UInt16
    /// Continuous-wave interference, from 0 for none to 255 for strong.
    public let jammingIndicator: UInt8
  }

  public let count: Int
  private let payload: LittleEndianBytes

  public init?(_ message: borrowing BinaryFrame) {
    payload = message.payload
    guard message.format == .ubx, message.kind == UBXKind.monRF, payload.count >= 4 else { return nil }
    count = min(Int(payload.uint8(1)), (payload.count - 4) / 24)
  }

  /// - Precondition: `index` is below `count`.
  public subscript(index: Int) -> Band {
    let start = 4 + 24 * index
    return Band(
      jamming: JammingReport(rawValue: payload.uint8(start + 1) & 3) ?? .unknown,
      antennaStatus: AntennaStatus(rawValue: payload.uint8(start + 2)) ?? .unknown,
      antennaPower: payload.uint8(start + 3),
      noisePerMillisecond: payload.uint16(start + 12), gain: payload.uint16(start + 14),
      jammingIndicator: payload.uint8(start + 16))
  }
}

/// MON-HW: the state of the radio in receivers with one band, up to protocol 23. The message has 60 bytes, or 68 in
/// generation 6, which has more pins.
public struct HardwareStatus {
  public let band: RadioStatus.Band

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.format == .ubx, message.kind == UBXKind.monHW, payload.count >= 60 else { return nil }
    band = RadioStatus.Band(
      jamming: JammingReport(rawValue: payload.uint8(22) >> 2 & 3) ?? .unknown,
      antennaStatus: AntennaStatus(rawValue: payload.uint8(20)) ?? .unknown,
      antennaPower: payload.uint8(21), noisePerMillisecond: payload.uint16(16), gain: payload.uint16(18),
      jammingIndicator: payload.uint8(payload.count >= 68 ? 53 : 45))
  }
}

/// SEC-SIG: whether the receiver detects jamming and spoofing; from F9 and X20 receivers with firmware from 2023 or
/// later. A receiver that sends SEC-SIG does not update the state in MON-RF. Version 1 has 12 bytes; version 2 has 4,
/// and one word for each frequency.
public struct SecurityStatus {
  public let jamming: JammingReport
  public let spoofing: SpoofingReport

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.format == .ubx, message.kind == UBXKind.secSIG else { return nil }
    let flags: (jamming: UInt8, spoofing: UInt8)
    switch payload.uint8(0) {
    case 1 where payload.count >= 12: flags = (payload.uint8(4), payload.uint8(8))
    case 2 where payload.count >= 4: flags = (payload.uint8(1), payload.uint8(1) >> 3)
    default: return nil
    }
    // The first bit says whether detection is on.
    jamming = flags.jamming & 1 == 0 ? .unknown : JammingReport(rawValue: flags.jamming >> 1 & 3) ?? .unknown
    spoofing = flags.spoofing & 1 == 0 ? .unknown : SpoofingReport(rawValue: flags.spoofing >> 1 & 7) ?? .unknown
  }
}
