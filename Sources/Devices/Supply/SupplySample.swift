import MonotonicTime

/// One reading of a supply monitor: means over the time that the chip took for it.
///
/// The current follows from the shunt's resistance, which belongs to the board.
public struct SupplySample: Equatable, Sendable {
  /// The chips' maximum ratings; a chip that states more is not measuring.
  static let voltages: ClosedRange<Double> = 0...36
  /// The widest full scale across a shunt.
  static let shuntVoltages: ClosedRange<Double> = -0.32...0.32

  public var at: MonotonicInstant
  /// Of the supply, after the shunt, against ground.
  public var volts: Double
  /// Across the shunt, positive where current flows to the load.
  public var shuntVolts: Double

  public init(at: MonotonicInstant, volts: Double, shuntVolts: Double) {
    self.at = at
    self.volts = volts
    self.shuntVolts = shuntVolts
  }

  /// A measurement of a chip, or `nil` if it cannot be one.
  init?(goodAt at: MonotonicInstant, volts: Double, shuntVolts: Double) {
    guard SupplySample.voltages.contains(volts), SupplySample.shuntVoltages.contains(shuntVolts) else { return nil }
    self.init(at: at, volts: volts, shuntVolts: shuntVolts)
  }
}
