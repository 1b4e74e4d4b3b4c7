import HardwareIO

/// Connects the magnetometer in an IMU's package to the host's bus. The magnetometer is on a separate bus of the IMU,
/// and a switch in the IMU, the bypass, joins the two buses.
///
/// A reset of the IMU opens the switch. The switch stays closed while the IMU sleeps, so that the IMU can stay in a
/// low-power mode while only the magnetometer is used (MPU-9250 product specification, pass-through mode).
enum MagnetometerBypass {
  /// Limits the time for which a magnetometer may fail to answer. A reset of its IMU opens the switch, and the IMU's
  /// own driver closes the switch again.
  struct Patience {
    private static let seconds = 0.5

    private let limit: Int
    private var unanswered = 0

    init(rateHz: Double) { limit = max(2, Int(Patience.seconds * rateHz)) }

    /// Performs `measure`. If the magnetometer does not answer, returns `nil` for the first half second, and after that
    /// throws the error of `measure`. Other errors are thrown at once.
    mutating func bear(
      _ measure: () throws(HardwareError) -> MagnetometerSample?
    ) throws(HardwareError) -> MagnetometerSample? {
      do throws(HardwareError) {
        let sample = try measure()
        unanswered = 0
        return sample
      } catch {
        guard case .noAcknowledge = error, unanswered < limit else { throw error }
        unanswered += 1
        return nil
      }
    }
  }

  /// The possible addresses of the IMU.
  private static let addresses: [UInt8] = [0x68, 0x69]
  /// The longest time for which the IMU's driver selects a bank other than the first one.
  private static let longestConfiguration = Duration.milliseconds(20)

  /// Checks the identity of the magnetometer. If no chip answers, closes the IMU's switch and checks again.
  ///
  /// - Parameter close: closes the switch of an IMU that has such a magnetometer, without waking the IMU; returns
  ///   whether the IMU has one
  /// - Throws: `.unexpectedDevice` if another chip answers, or the error of the bus
  static func require(
    _ chip: MagnetometerChip, of registers: I2CRegisters, close: (I2CRegisters) throws(HardwareError) -> Bool
  ) throws(HardwareError) {
    do throws(HardwareError) {
      try chip.identity.require(chip.title, of: registers)
    } catch {
      guard case .noAcknowledge = error, try isClosed(on: registers.bus, by: close) else { throw error }
      try chip.identity.require(chip.title, of: registers)
    }
  }

  private static func isClosed(
    on bus: any I2CBus, by close: (I2CRegisters) throws(HardwareError) -> Bool
  ) throws(HardwareError) -> Bool {
    for address in addresses {
      do throws(HardwareError) {
        if try close(I2CRegisters(bus, address: address, capacity: ChipIdentity.longest)) { return true }
      } catch {
        switch error {
        case .noAcknowledge, .busy: continue
        default: throw error
        }
      }
    }
    return false
  }

  /// Closes the switch of an MPU-9250 or MPU-9255.
  static func closeMPU(_ registers: I2CRegisters) throws(HardwareError) -> Bool {
    guard let model = MPUModel(rawValue: try registers.read(MPURegister.whoAmI)), model.hasMagnetometer else {
      return false
    }
    try add(MPURegister.bypass, to: MPURegister.interruptPin, of: registers)
    return true
  }

  /// Closes the switch of an ICM-20948, and restores its bank.
  ///
  /// - Parameter pause: blocks the calling thread
  static func closeICM20948(_ registers: I2CRegisters, pause: (Duration) -> Void) throws(HardwareError) -> Bool {
    if try closeInFirstBank(registers) { return true }
    // Only the first bank has an identity register. The IMU's own driver selects another bank only briefly. If the
    // chip stays in another bank, another program has left it there.
    let bank = try registers.read(ICM20948Register.bank)
    guard ICM20948Register.otherBanks.contains(bank) else { return false }
    pause(longestConfiguration)
    guard try registers.read(ICM20948Register.bank) == bank else { return try closeInFirstBank(registers) }
    try registers.write(ICM20948Register.bank0, to: ICM20948Register.bank)
    defer { try? registers.write(bank, to: ICM20948Register.bank) }
    return try closeInFirstBank(registers)
  }

  private static func closeInFirstBank(_ registers: I2CRegisters) throws(HardwareError) -> Bool {
    guard try InertialChip.icm20948.identity.isTrue(of: registers) else { return false }
    try add(ICM20948Register.bypass, to: ICM20948Register.interruptPin, of: registers)
    return true
  }

  private static func add(_ bit: UInt8, to register: UInt8, of registers: I2CRegisters) throws(HardwareError) {
    let value = try registers.read(register)
    try registers.write(value | bit, to: register)
  }
}
