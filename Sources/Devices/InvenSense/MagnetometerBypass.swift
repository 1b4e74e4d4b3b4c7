import HardwareIO

/// The way to the magnetometer in an IMU's package: it is on a bus of the IMU's own, which a switch in the IMU, the
/// bypass, joins to the host's.
///
/// A reset of the IMU opens the switch. It stays closed while the IMU sleeps: it is there so that the IMU can be kept
/// in a low-power mode while only the magnetometer is used (MPU-9250 product specification, pass-through mode).
enum MagnetometerBypass {
  /// For how long a magnetometer need not answer: its IMU may be being reset by its own driver, which closes the switch again.
  struct Patience {
    private static let seconds = 0.5

    private let limit: Int
    private var unanswered = 0

    init(rateHz: Double) { limit = max(2, Int(Patience.seconds * rateHz)) }

    /// The findings of `measure`; nothing if no chip answers.
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

  /// Where an IMU can be.
  private static let addresses: [UInt8] = [0x68, 0x69]
  /// The longest time for which a driver leaves the first bank of its chip.
  private static let longestConfiguration = Duration.milliseconds(20)

  /// Makes a driver refuse another chip; if no chip answers, closes the IMU's switch and asks once more.
  ///
  /// - Parameter close: closes the switch in an IMU that has such a magnetometer, without waking it; returns whether it
  ///   is one
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

  /// Closes the switch of an ICM-20948, and leaves it in the bank in which it was.
  ///
  /// - Parameter pause: waits on the calling thread
  static func closeICM20948(_ registers: I2CRegisters, pause: (Duration) -> Void) throws(HardwareError) -> Bool {
    if try closeInFirstBank(registers) { return true }
    // Only the first bank has an identity. Its own driver leaves that bank only for a moment; if it stays in another
    // one, another program has left it there.
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
