import HardwareIO

/// Recognises an INA219, which has no identity register, by relations between its registers.
enum INA219Identity {
  /// The number of attempts before a mismatch counts. The chip may complete a measurement between two reads.
  private static let tries = 8

  /// Whether the registers fit an INA219. The check writes nothing, and accepts any configuration that another program
  /// may have left.
  static func isTold(by registers: I2CRegisters) throws(HardwareError) -> Bool {
    let configuration = try registers.readWord(INA219Register.configuration)
    guard configuration != 0, configuration & INA219Register.configurationZeros == 0 else { return false }
    let bus = try registers.readWord(INA219Register.busVoltage)
    let busLimit = INA219Register.busLimit * (configuration & INA219Register.wideBus == 0 ? 1 : 2)
    guard bus & INA219Register.busZeros == 0, bus >> 3 <= busLimit else { return false }
    let calibration = try registers.readWord(INA219Register.calibration)
    guard calibration & 0x0001 == 0 else { return false }
    let shuntLimit = INA219Register.shuntLimit << Int((configuration & INA219Register.gain) >> 11)
    guard try currentFits(calibration, shuntLimit, registers) else { return false }
    // The power is read last, because reading it clears the flag of a new measurement.
    if calibration == 0 { guard try registers.readWord(INA219Register.power) == 0 else { return false } }
    return try !isOfTheLaterOnes(registers)
  }

  /// Whether the current is the product of the calibration and the shunt voltage (equation 4). Without a calibration,
  /// the current is 0.
  private static func currentFits(
    _ calibration: UInt16, _ shuntLimit: Int, _ registers: I2CRegisters
  ) throws(HardwareError) -> Bool {
    for _ in 0..<tries {
      let shunt = Int(Int16(bitPattern: try registers.readWord(INA219Register.shuntVoltage)))
      guard abs(shunt) <= shuntLimit else { return false }
      let current = Int(Int16(bitPattern: try registers.readWord(INA219Register.current)))
      // The tolerance covers the remainder of the division and the noise between two measurements.
      if abs(4096 * current - shunt * Int(calibration)) < 4096 + 8 * Int(calibration) { return true }
    }
    return false
  }

  /// Whether the chip has the manufacturer's identity register, like the INA226, the INA228, their relatives and some
  /// thermometers.
  private static func isOfTheLaterOnes(_ registers: I2CRegisters) throws(HardwareError) -> Bool {
    for register in [INA226Register.manufacturer, INA226Register.laterManufacturer] {
      if try registers.readWord(register) == INA226Register.texasInstruments { return true }
    }
    return false
  }
}
