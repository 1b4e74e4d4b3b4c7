/// One satellite in view, or one of its signals.
public struct Satellite: Equatable, Sendable {
  public var number: SatelliteNumber
  /// u-blox's number of the signal inside the system; 0 is the first civil signal.
  public var signal: UInt8
  /// The elevation, -90 to 90.
  public var elevationDegrees: Int8
  /// The azimuth from true north as the receiver states it, normally 0 to 360.
  public var azimuthDegrees: UInt16
  /// The carrier to noise density, dB-Hz; 0 while not tracked.
  public var signalStrength: UInt8
  /// Whether the satellite is part of the solution.
  public var isUsed: Bool
}
