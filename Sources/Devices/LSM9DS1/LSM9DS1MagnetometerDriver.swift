import HardwareIO

/// Driver of the LSM9DS1's magnetic half, a LIS3MDL with different axes.
///
/// The data sheet of the LSM9DS1 states units of 0.14, 0.29, 0.43 and 0.58 milligauss. These are the units of the
/// LIS3MDL, truncated.
final class LSM9DS1MagnetometerDriver: PolledDriver {
  /// The signs of the axes. The magnetometer's x axis is opposite to the x axis of the inertial half, and its y and z
  /// axes are parallel to those of the inertial half. The driver of the inertial half reverses z to make its axes
  /// right-handed, so this driver reverses z as well.
  private static let axes = SIMD3<Float>(-1, 1, -1)

  private let identity = ChipIdentity(register: LIS3MDLRegister.whoAmI, values: [LIS3MDLRegister.identity])
  private let registers: I2CRegisters
  private let driver: LIS3MDLDriver

  init(_ connection: ChipConnection, _ configuration: PolledConfiguration) {
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: ChipIdentity.longest)
    driver = LIS3MDLDriver(connection, configuration)
  }

  func start() throws(HardwareError) {
    // The driver does not search for the inertial half, which may have no power, or may be in use by another program.
    try identity.require(MagnetometerChip.lsm9ds1Magnetometer.title, of: registers)
    try driver.start()
  }

  func read() throws(HardwareError) -> MagnetometerSample? {
    guard var sample = try driver.read() else { return nil }
    sample.field *= LSM9DS1MagnetometerDriver.axes
    return sample
  }

  func stop() { driver.stop() }

  /// Whether an LSM9DS1's inertial half is on a bus.
  static func hasOtherHalf(on bus: any I2CBus) throws(HardwareError) -> Bool {
    let half = InertialChip.lsm9ds1
    for address in half.addresses {
      do throws(HardwareError) {
        if try half.identity.isTrue(of: I2CRegisters(bus, address: address, capacity: ChipIdentity.longest)) {
          return true
        }
      } catch {
        switch error {
        case .noAcknowledge, .busy: continue
        default: throw error
        }
      }
    }
    return false
  }
}
