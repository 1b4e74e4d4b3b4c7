/// NAV-STATUS: the kind of a solution, the detection of spoofing, and the times since the receiver's start; 16 bytes.
public struct NavigationStatus {
  public let timeOfWeekMilliseconds: UInt32
  public let fixType: NavigationFixType
  public let isFixOK: Bool
  public let isDifferential: Bool
  public let carrier: NavigationPVT.Carrier
  public let spoofing: SpoofingReport
  /// The time from the start to the first fix; 0 before that.
  public let timeToFirstFixMilliseconds: UInt32
  public let runTimeMilliseconds: UInt32

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.format == .ubx, message.kind == UBXKind.navSTATUS, payload.count >= 16 else { return nil }
    timeOfWeekMilliseconds = payload.uint32(0)
    fixType = NavigationFixType(payload.uint8(4))
    isFixOK = payload.uint8(5) & 1 != 0
    isDifferential = payload.uint8(5) & 2 != 0
    // The two bits of the carrier are valid only if the second flag of fixStat is set (u-blox F9 interface description,
    // UBX-NAV-STATUS).
    let isCarrierKnown = payload.uint8(6) & 2 != 0
    carrier = isCarrierKnown ? NavigationPVT.Carrier(rawValue: payload.uint8(7) >> 6) ?? .none : .none
    spoofing = SpoofingReport(rawValue: payload.uint8(7) >> 3 & 3) ?? .unknown
    timeToFirstFixMilliseconds = payload.uint32(8)
    runTimeMilliseconds = payload.uint32(12)
  }
}
