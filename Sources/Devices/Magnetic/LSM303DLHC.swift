import HardwareIO
import MonotonicTime

/// Registers of the LSM303DLHC, a magnetometer and an accelerometer in one package, by the names of its data sheet (ST
/// DocID018771, revision 2).
///
/// The magnetometer has the registers and the identity of an HMC5883L (`HMC5883LRegister`), with these differences:
///
/// - The unit of z differs from the unit of x and y: table 75.
/// - The bits of the average must be 0.
///
/// Only the accelerometer on the same bus shows that it is not an HMC5883L. The data sheet does not mention the
/// accelerometer's identity register, which Linux (st_accel) checks.
enum LSM303DLHCRegister {
  static let accelerometerAddress: UInt8 = 0x19
  /// WHO_AM_I of the accelerometer.
  static let accelerometerWhoAmI: UInt8 = 0x0F
  static let accelerometerIdentity: UInt8 = 0x33
  /// With the gain for fields up to 1.3 gauss.
  static let unitsPerGauss = SIMD3<Float>(1100, 1100, 980)
}

extension HMC5883LModel {
  static let lsm303dlhc = HMC5883LModel(
    title: "LSM303DLHC magnetometer", unitsPerGauss: LSM303DLHCRegister.unitsPerGauss, averages: false)
}

extension MagnetometerChip {
  /// The entry of the magnetometer. The hub has no use for an accelerometer without a gyroscope.
  static var lsm303dlhc: MagnetometerChip {
    let identity = ChipIdentity(
      register: HMC5883LRegister.identificationA, toldBy: "the LSM303DLHC's accelerometer on the same bus"
    ) { (registers) throws(HardwareError) in
      guard try HMC5883LDriver.identity.isTrue(of: registers) else { return false }
      return try hasAccelerometer(on: registers.bus)
    }
    // The currents are for both sensors: at work with 7.5 Hz, and powered down.
    return hmc5883lFamily(
      "lsm303dlhc", .lsm303dlhc, identity: identity, provenAgainst: "Linux (st_magn)", milliamperes: 0.11, asleep: 0.001
    )
  }

  private static func hasAccelerometer(on bus: any I2CBus) throws(HardwareError) -> Bool {
    let registers = I2CRegisters(bus, address: LSM303DLHCRegister.accelerometerAddress, capacity: 1)
    do throws(HardwareError) {
      return try registers.read(LSM303DLHCRegister.accelerometerWhoAmI) == LSM303DLHCRegister.accelerometerIdentity
    } catch {
      switch error {
      case .noAcknowledge, .busy: return false
      default: throw error
      }
    }
  }
}
