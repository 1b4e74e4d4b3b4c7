/// One satellite in view, or one of its signals.
public struct Satellite: Equatable, Sendable {
  public var number: SatelliteNumber
  /// u-blox's signal identifier inside the system; 0 is the first civil signal.
  public var signal: UInt8
  /// -90 to 90.
  public var elevationDegrees: Int8
  /// 0 to 359 from true north.
  public var azimuthDegrees: UInt16
  /// Carrier to noise density, dB-Hz; 0 while not tracked.
  public var signalStrength: UInt8
  /// Part of the solution.
  public var isUsed: Bool
}
