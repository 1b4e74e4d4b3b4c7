import MonotonicTime

public typealias SimulatedHMC5883L = SimulatedRegisterChip<HMC5883LRegisters<HMC5883L>>
public typealias SimulatedLSM303DLHCMagnetometer = SimulatedRegisterChip<HMC5883LRegisters<LSM303DLHCMagnetometer>>

/// The differences between the magnetometer of an LSM303DLHC and an HMC5883L.
public protocol HMC5883LKind {
  /// The units per gauss for each gain: of x and y, and of z.
  static var unitsPerGauss: [(xy: Double, z: Double)] { get }
  /// The mode after the supply comes on.
  static var modeAfterReset: UInt8 { get }
  /// The bits of configuration A that select an average; 0 for a chip that averages nothing.
  static var averageBits: UInt8 { get }
}

public enum HMC5883L: HMC5883LKind {
  public static let unitsPerGauss: [(xy: Double, z: Double)] = [1370, 1090, 820, 660, 440, 390, 330, 230].map {
    ($0, $0)
  }
  public static let modeAfterReset: UInt8 = 0x01
  public static let averageBits: UInt8 = 0x60
}

public enum LSM303DLHCMagnetometer: HMC5883LKind {
  /// The data sheet has no first gain; the second one stands for it.
  public static let unitsPerGauss: [(xy: Double, z: Double)] = [
    (1100, 980), (1100, 980), (855, 760), (670, 600), (450, 400), (400, 355), (330, 295), (230, 205),
  ]
  public static let modeAfterReset: UInt8 = 0x03
  public static let averageBits: UInt8 = 0
}

private enum Register {
  static let configurationA = 0x00
  static let configurationB = 0x01
  static let mode = 0x02
  static let output = 0x03..<0x09
  static let status = 0x09
}

/// The registers of an HMC5883L: its rates and gains, the order of its axes, the overflow value, the ready flag that
/// stays set, and the lock that a partial read places on the data.
public struct HMC5883LRegisters<Kind: HMC5883LKind>: SimulatedRegisters {
  public static var usualAddress: UInt8 { 0x1E }

  private var registers = HMC5883LRegisters.resetRegisters
  private var measurements = SimulatedMeasurements()
  /// When a single measurement will be complete.
  private var singleAt: MonotonicInstant?
  /// The gain that the chip uses. A new gain applies from the second measurement on.
  private var gainInEffect: UInt8 = 1
  /// A bit for each data register that a partial read has already read.
  private var lock: UInt8 = 0
  private var noise = Noise(seed: 5883)

  public init() {}

  private static var resetRegisters: [UInt8] {
    [
      0x10, 0x20, Kind.modeAfterReset, 0, 0, 0, 0, 0, 0, 0, UInt8(ascii: "H"), UInt8(ascii: "4"), UInt8(ascii: "3"),
    ]
  }

  public static func next(_ register: UInt8) -> UInt8 { register == 0x0C ? 0 : register &+ 1 }

  public mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant) {
    switch Int(register) {
    case Register.configurationA, Register.mode:
      registers[Int(register)] = value
      lock = 0
      let mode = registers[Register.mode] & 0x03
      measurements.begin(at: mode == 0 ? now : nil)
      singleAt = mode == 1 && Int(register) == Register.mode ? now + .milliseconds(6 * averages) : nil
    case Register.configurationB: registers[Register.configurationB] = value
    default: break
    }
  }

  public mutating func measure(_ world: World, at now: MonotonicInstant) {
    guard let at = complete(by: now), lock == 0 else { return }
    let gain = Kind.unitsPerGauss[Int(gainInEffect)]
    let scale = SIMD3(gain.xy, gain.xy, gain.z) / 100
    gainInEffect = registers[Register.configurationB] >> 5
    // The noise is 2 mG.
    var units = SIMD3<Int16>.units((world.truth(at: at).magneticField + noise.vector(0.2 * world.noiseScale)) * scale)
    for axis in 0..<3 where !(-2048...2047).contains(units[axis]) { units[axis] = -4096 }
    var bytes: [UInt8] = []
    bytes.append(highByteFirst: SIMD3(units.x, units.z, units.y))
    registers.replaceSubrange(Register.output, with: bytes)
    registers[Register.status] |= 0x01
  }

  public mutating func read(_ register: UInt8) -> UInt8 {
    let register = Int(register)
    // Registers beyond the last one read as 0.
    guard registers.indices.contains(register) else { return 0 }
    if register == Register.status { return registers[register] | (lock == 0 ? 0 : 0x02) }
    if Register.output.contains(register) {
      lock |= 1 << UInt8(register - Register.output.lowerBound)
      if lock == 0x3F { lock = 0 }
    }
    return registers[register]
  }

  private var averages: Int { 1 << Int((registers[Register.configurationA] & Kind.averageBits) >> 5) }

  /// When the latest measurement was complete, if it has not been stored yet.
  private mutating func complete(by now: MonotonicInstant) -> MonotonicInstant? {
    if let single = singleAt {
      guard now >= single else { return nil }
      singleAt = nil
      registers[Register.mode] = registers[Register.mode] & ~0x03 | 0x02
      return single
    }
    let rates = [0.75, 1.5, 3, 7.5, 15, 30, 75, 75]
    let rate = rates[Int(registers[Register.configurationA] >> 2 & 0x07)]
    return measurements.next(by: now, period: Int64(1e9 / rate))
  }
}
