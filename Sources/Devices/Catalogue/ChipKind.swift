/// The quantity that a chip measures.
public enum ChipKind: String, CaseIterable, Sendable {
  /// Angular rate and specific force.
  case imu
  case magnetometer
  case barometer
  /// Voltage and current.
  case supplyMonitor
}
