import HardwareIO
import MonotonicTime

/// Registers of the HMC5883L, by the names and tables of its data sheet (Honeywell 900405, revision E).
///
/// Pitfalls:
///
/// - The axes come as x, z, y.
/// - The flag "ready" stays set after a read, so it does not mark a new measurement.
/// - A read of only some of the six bytes prevents the next measurement from being stored.
/// - The first measurement after a change of the gain is made with the previous gain.
/// - There is no reset.
enum HMC5883LRegister {
  /// Averaging, rate and bias, tables 3 to 6.
  static let configurationA: UInt8 = 0x00
  /// Gain, tables 7 to 9.
  static let configurationB: UInt8 = 0x01
  /// Continuous, single or idle, from table 10 on.
  static let mode: UInt8 = 0x02
  /// x, z and y in this order, high byte first, tables 13 to 15.
  static let output: UInt8 = 0x03
  /// The first of three identification registers.
  static let identificationA: UInt8 = 0x0A

  /// The identity "H43".
  static let identity: [UInt8] = [0x48, 0x34, 0x33]

  // Configuration A: the average of this number of measurements
  static let mean: UInt8 = 0x60
  static let meanOf8: UInt8 = 0x60
  static let meanOf4: UInt8 = 0x40
  static let meanOf2: UInt8 = 0x20
  /// The gain for fields up to 1.3 gauss: 1090 units per gauss.
  static let gain1090: UInt8 = 0x20
  static let unitsPerGauss: Float = 1090
  static let continuous: UInt8 = 0x00
  static let single: UInt8 = 0x01
  static let idle: UInt8 = 0x02
  /// The range of a measurement, table 9; -4096 stands for an overflow.
  static let units: ClosedRange<Int16> = -2048...2047
}

/// The differences between magnetometers that have the registers of an HMC5883L.
struct HMC5883LModel {
  static let hmc5883l = HMC5883LModel(
    title: "HMC5883L", unitsPerGauss: SIMD3(repeating: HMC5883LRegister.unitsPerGauss), averages: true)

  /// The chip's title in messages.
  var title: String
  /// The units per gauss of x, y and z with the gain that the driver sets.
  var unitsPerGauss: SIMD3<Float>
  /// Whether the chip can average several measurements.
  var averages: Bool
}

/// Driver of the HMC5883L, a magnetometer, and of chips with the same registers.
final class HMC5883LDriver: PolledDriver {
  static let identity = ChipIdentity(
    register: HMC5883LRegister.identificationA, sequences: [HMC5883LRegister.identity])

  private let model: HMC5883LModel
  private let microteslaPerUnit: SIMD3<Float>
  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let rate: HMC5883LRate
  /// The last measurement. The chip does not mark new measurements, so the driver treats an equal one as the same.
  private var last: SIMD3<Int16> = .zero

  init(_ model: HMC5883LModel, _ connection: ChipConnection, _ configuration: PolledConfiguration) {
    self.model = model
    self.connection = connection
    microteslaPerUnit = 100 / model.unitsPerGauss
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 6)
    rate = HMC5883LRate(nearest: configuration.rateHz)
  }

  func start() throws(HardwareError) {
    try HMC5883LDriver.identity.require(model.title, of: registers)
    let bits = model.averages ? rate.bits : rate.bits & ~HMC5883LRegister.mean
    try registers.write(bits, to: HMC5883LRegister.configurationA)
    try registers.write(HMC5883LRegister.gain1090, to: HMC5883LRegister.configurationB)
    // The gain applies from the second measurement on. A single measurement takes 6 ms, and the chip averages up to
    // eight.
    try registers.write(HMC5883LRegister.single, to: HMC5883LRegister.mode)
    connection.pause(.milliseconds(60))
    last = try readUnits()
    try registers.write(HMC5883LRegister.continuous, to: HMC5883LRegister.mode)
  }

  func read() throws(HardwareError) -> MagnetometerSample? {
    let units = try readUnits()
    // Two real measurements with the same bits are possible; dropping one does no harm.
    guard units != last else { return nil }
    last = units
    guard HMC5883LRegister.units.contains(units.min()), HMC5883LRegister.units.contains(units.max()) else { return nil }
    return MagnetometerSample(
      goodAt: connection.measuredAt(rateHz: rate.hertz),
      field: SIMD3<Float>(units) * microteslaPerUnit)
  }

  func stop() { try? registers.write(HMC5883LRegister.idle, to: HMC5883LRegister.mode) }

  /// Reads the axes as x, y and z; the chip sends z before y.
  private func readUnits() throws(HardwareError) -> SIMD3<Int16> {
    let bytes = try registers.read(HMC5883LRegister.output, count: 6)
    return SIMD3(bytes.bigEndian(at: 0), bytes.bigEndian(at: 4), bytes.bigEndian(at: 2))
  }
}

/// A rate that the HMC5883L supports, with as much averaging as 160 measurements a second allow.
struct HMC5883LRate {
  private static let all: [(hertz: Double, mean: UInt8)] = [
    (0.75, HMC5883LRegister.meanOf8), (1.5, HMC5883LRegister.meanOf8), (3, HMC5883LRegister.meanOf8),
    (7.5, HMC5883LRegister.meanOf8), (15, HMC5883LRegister.meanOf8), (30, HMC5883LRegister.meanOf4),
    (75, HMC5883LRegister.meanOf2),
  ]

  let hertz: Double
  /// The value for configuration register A, with the averaging.
  let bits: UInt8

  init(nearest requested: Double) {
    let index = HMC5883LRate.all.map(\.hertz).slowestRate(for: requested)
    let chosen = HMC5883LRate.all[index]
    hertz = chosen.hertz
    bits = chosen.mean | UInt8(index) << 2
  }
}

extension MagnetometerChip {
  static var hmc5883l: MagnetometerChip {
    // The currents are for 7.5 Hz without averaging, and idle.
    hmc5883lFamily(
      "hmc5883l", .hmc5883l, identity: HMC5883LDriver.identity, provenAgainst: "Linux (hmc5843)", milliamperes: 0.1,
      asleep: 0.002)
  }

  /// The entry of a chip with the registers of an HMC5883L.
  static func hmc5883lFamily(
    _ name: String, _ model: HMC5883LModel, identity: ChipIdentity, provenAgainst: String, milliamperes: Double,
    asleep sleepMilliamperes: Double
  ) -> MagnetometerChip {
    MagnetometerChip(
      name: name, title: model.title, addresses: [0x1E], identity: identity, provenAgainst: provenAgainst,
      milliamperes: milliamperes, sleepMilliamperes: sleepMilliamperes, ratesHz: 0.75...75,
      actualRate: { HMC5883LRate(nearest: $0).hertz },
      makeDriver: { HMC5883LDriver(model, $0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(HMC5883LRegister.idle, to: HMC5883LRegister.mode)
      })
  }
}
