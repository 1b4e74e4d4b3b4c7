/// NAV-RELPOSNED, version 1: the position of the rover's antenna relative to the base's; 64 bytes. Version 0 has no
/// heading.
public struct NavigationRelativePosition {
  public let timeOfWeekMilliseconds: UInt32
  /// The direction of the line from the base's antenna to the rover's, from true north, 0 to 360; `nil` unless both are
  /// on the same body, and the ambiguities between them are fixed.
  public let headingDegrees: Double?
  public let headingAccuracyDegrees: Double

  // The bits of the flags (u-blox F9 HPG interface description, UBX-NAV-RELPOSNED).
  private static let isFixOK: UInt32 = 1 << 0
  private static let isPositionValid: UInt32 = 1 << 2
  private static let carrierShift: UInt32 = 3
  private static let carrierFixed: UInt32 = 2
  private static let isMovingBase: UInt32 = 1 << 5
  private static let isHeadingValid: UInt32 = 1 << 8

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.kind == UBXKind.navRELPOSNED, payload.count >= 64, payload.uint8(0) == 1 else { return nil }
    timeOfWeekMilliseconds = payload.uint32(4)
    headingAccuracyDegrees = Double(payload.uint32(52)) * 1e-5
    let flags = payload.uint32(60)
    typealias Own = NavigationRelativePosition
    let needed = Own.isFixOK | Own.isPositionValid | Own.isMovingBase | Own.isHeadingValid
    let isFixed = flags >> Own.carrierShift & 3 == Own.carrierFixed
    headingDegrees = flags & needed == needed && isFixed ? Double(payload.int32(24)) * 1e-5 : nil
  }
}
