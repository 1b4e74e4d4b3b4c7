import HardwareIO

/// Configures an LSM6DSOX, LSM6DSO, LSM6DSR or ISM330DHCX to detect motion with only its accelerometer, in low-power
/// mode.
///
/// The threshold applies to the difference between the specific force and its average over about the last second. This
/// detects a vehicle that starts gently, which the difference between two successive samples would not.
final class LSM6DSOXMotionDriver: MotionDriver {
  private let registers: I2CRegisters
  private let connection: ChipConnection

  init(_ connection: ChipConnection) {
    self.connection = connection
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: ChipIdentity.longest)
  }

  func start() throws(HardwareError) {
    try ChipIdentity(register: LSM6DSOXRegister.whoAmI, values: LSM6DSOXDriver.identities).require(
      "relative of the LSM6DSOX", of: registers)
    // The reset switches off the FIFO, the gyroscope and the other functions of the pin.
    try registers.write(LSM6DSOXRegister.softwareReset, to: LSM6DSOXRegister.control3)
    connection.pause(.milliseconds(10))
    try registers.write(LSM6DSOXRegister.blockUpdateAndIncrement, to: LSM6DSOXRegister.control3)
    try registers.write(LSM6DSOXRegister.withoutI3C, to: LSM6DSOXRegister.control9)
    try registers.write(LSM6DSOXRegister.accelerometerLowPower, to: LSM6DSOXRegister.control6)
    try registers.write(LSM6DSOXRegister.slowHighPass, to: LSM6DSOXRegister.control8)
    try registers.write(LSM6DSOXRegister.latchedHighPassed, to: LSM6DSOXRegister.tap0)
    try registers.write(LSM6DSOXRegister.fineThreshold, to: LSM6DSOXRegister.wakeUpDuration)
    try registers.write(LSM6DSOXRegister.wakeUpThreshold15Milligravities, to: LSM6DSOXRegister.wakeUpThreshold)
    try registers.write(LSM6DSOXRegister.at26HzAnd2Gravities, to: LSM6DSOXRegister.accelerometer)
    // This pause covers the settling time of the filter, in which the chip may report motion although there is none.
    connection.pause(.milliseconds(200))
    _ = try registers.read(LSM6DSOXRegister.wakeUpSource)
    try registers.write(LSM6DSOXRegister.interruptsEnabled, to: LSM6DSOXRegister.tap2)
    try registers.write(LSM6DSOXRegister.wakeUp, to: LSM6DSOXRegister.functions1)
  }

  func takeMotion() throws(HardwareError) -> Bool {
    guard try registers.read(LSM6DSOXRegister.accelerometer) == LSM6DSOXRegister.at26HzAnd2Gravities,
      try registers.read(LSM6DSOXRegister.functions1) == LSM6DSOXRegister.wakeUp
    else {
      throw .unexpectedDevice(
        "the chip at 0x\(String(connection.address, radix: 16)) on \(registers.bus.name) no longer waits for motion")
    }
    return try registers.read(LSM6DSOXRegister.wakeUpSource) & LSM6DSOXRegister.hasWokenUp != 0
  }

  func stop() {
    try? registers.write(0, to: LSM6DSOXRegister.functions1)
    try? registers.write(0, to: LSM6DSOXRegister.accelerometer)
  }
}
