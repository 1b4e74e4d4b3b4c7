import MonotonicTime

public typealias SupplyMonitorChip = Chip<any PolledDriver<SupplySample>, PolledConfiguration>

extension SupplyMonitorChip {
  /// All supply monitors, the commonest first. The INA219 has no identity register; its check refuses chips that have
  /// one.
  public static var all: [SupplyMonitorChip] { [.ina219, .ina226] }

  /// The possible addresses: two pins select four bits.
  static var supplyMonitorAddresses: [UInt8] { Array(0x40...0x4F) }
}

/// One reading of a supply monitor. Its values are averages over the chip's measuring time.
///
/// To get the current, divide `shuntVolts` by the resistance of the shunt, which is a property of the board.
public struct SupplySample: Equatable, Sendable {
  /// The maximum ratings of the chips' bus voltage in volts. A chip that reports a voltage outside this range is not
  /// measuring.
  static let voltages: ClosedRange<Double> = 0...36
  /// The widest full scale across a shunt, in volts.
  static let shuntVoltages: ClosedRange<Double> = -0.32...0.32

  public var at: MonotonicInstant
  /// The voltage of the supply, after the shunt, against ground.
  public var volts: Double
  /// The voltage across the shunt; positive if current flows to the load.
  public var shuntVolts: Double

  public init(at: MonotonicInstant, volts: Double, shuntVolts: Double) {
    self.at = at
    self.volts = volts
    self.shuntVolts = shuntVolts
  }

  /// A chip's measurement; `nil` if it is not plausible.
  init?(goodAt at: MonotonicInstant, volts: Double, shuntVolts: Double) {
    guard SupplySample.voltages.contains(volts), SupplySample.shuntVoltages.contains(shuntVolts) else { return nil }
    self.init(at: at, volts: volts, shuntVolts: shuntVolts)
  }
}
