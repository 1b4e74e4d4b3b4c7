import MonotonicTime

/// The magnetometer in the package of an MPU-9250. It answers while the MPU's `isBypassOn` is true.
public typealias SimulatedAK8963 = SimulatedRegisterChip<AKMRegisters<AK8963>>
/// The magnetometer in the package of an ICM-20948. It answers while the ICM's `isBypassOn` is true.
public typealias SimulatedAK09916 = SimulatedRegisterChip<AKMRegisters<AK09916>>

/// The differences between AKM's magnetometers.
public protocol AKMKind {
  static var registerCount: Int { get }
  static var identity: [UInt8] { get }
  static var status1: Int { get }
  static var output: Int { get }
  static var status2: Int { get }
  static var control: Int { get }
  static var reset: Int { get }
  static var modeBits: UInt8 { get }
  /// The periods of the continuous modes in milliseconds.
  static var periods: [UInt8: Int64] { get }
  /// The mode in which the trim can be read, its register and its values; 128 means no correction.
  static var trim: (mode: UInt8, register: Int, values: SIMD3<Double>)? { get }
  /// The control bit that selects 16 bits, if the chip also supports 14.
  static var fineUnits: UInt8 { get }
  static func next(_ register: UInt8) -> UInt8
  /// Rotates a field from the axes of the IMU in the same package to the magnetometer's own axes.
  static func turned(_ field: SIMD3<Double>) -> SIMD3<Double>
}

public enum AK8963: AKMKind {
  public static let registerCount = 0x13
  public static let identity: [UInt8] = [0x48, 0x9A]
  public static let status1 = 0x02
  public static let output = 0x03
  public static let status2 = 0x09
  public static let control = 0x0A
  public static let reset = 0x0B
  public static let modeBits: UInt8 = 0x0F
  public static let periods: [UInt8: Int64] = [0x02: 125, 0x06: 10]
  public static let trim: (mode: UInt8, register: Int, values: SIMD3<Double>)? =
    (mode: 0x0F, register: 0x10, values: SIMD3(176, 178, 166))
  public static let fineUnits: UInt8 = 0x10

  public static func next(_ register: UInt8) -> UInt8 {
    switch register {
    case 0x0C: 0x00
    case 0x12: 0x10
    default: register &+ 1
    }
  }

  public static func turned(_ field: SIMD3<Double>) -> SIMD3<Double> { SIMD3(field.y, field.x, -field.z) }
}

public enum AK09916: AKMKind {
  public static let registerCount = 0x33
  public static let identity: [UInt8] = [0x48, 0x09]
  public static let status1 = 0x10
  public static let output = 0x11
  public static let status2 = 0x18
  public static let control = 0x31
  public static let reset = 0x32
  public static let modeBits: UInt8 = 0x1F
  public static let periods: [UInt8: Int64] = [0x02: 100, 0x04: 50, 0x06: 20, 0x08: 10]
  public static let trim: (mode: UInt8, register: Int, values: SIMD3<Double>)? = nil
  public static let fineUnits: UInt8 = 0x00

  public static func next(_ register: UInt8) -> UInt8 {
    switch register {
    case 0x03: 0x10
    case 0x18: 0x00
    case 0x32: 0x30
    default: register &+ 1
    }
  }

  public static func turned(_ field: SIMD3<Double>) -> SIMD3<Double> { SIMD3(field.x, -field.y, -field.z) }
}

/// The registers of an AKM magnetometer: its modes and the time that it needs between them, its trim, the flags for
/// new, overflowed and skipped data, and the protection of a measurement while it is read.
public struct AKMRegisters<Kind: AKMKind>: SimulatedRegisters {
  public static var usualAddress: UInt8 { 0x0C }

  private var registers = AKMRegisters.resetRegisters
  private var measurements = SimulatedMeasurements()
  /// When a single measurement will be complete.
  private var singleAt: MonotonicInstant?
  /// Whether a measurement is being read, from its first byte to status 2. New measurements are not stored during
  /// that time.
  private var isLocked = false
  /// When the chip accepts a mode again after power-down.
  private var readyAt: MonotonicInstant?
  private var noise = Noise(seed: 8963)

  public init() {}

  private static var resetRegisters: [UInt8] {
    Kind.identity + [UInt8](repeating: 0, count: Kind.registerCount - Kind.identity.count)
  }

  public static func next(_ register: UInt8) -> UInt8 { Kind.next(register) }

  private var mode: UInt8 { registers[Kind.control] & Kind.modeBits }

  public mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant) {
    switch Int(register) {
    case Kind.reset where value & 0x01 != 0:
      self = AKMRegisters()
      readyAt = now + .microseconds(100)
    case Kind.control:
      let wanted = value & Kind.modeBits
      if wanted == 0 {
        readyAt = now + .microseconds(100)
      } else {
        // A mode can be entered only from power-down, or be set again.
        guard mode == 0 || mode == wanted, readyAt.map({ now >= $0 }) ?? true else { return }
      }
      registers[Kind.control] = value & (Kind.modeBits | Kind.fineUnits)
      measurements.begin(at: Kind.periods[wanted] == nil ? nil : now)
      singleAt = wanted == 1 ? now + .microseconds(7200) : nil
      isLocked = false
    default: break
    }
  }

  public mutating func measure(_ world: World, at now: MonotonicInstant) {
    guard let at = complete(by: now) else { return }
    guard !isLocked else { return registers[Kind.status1] |= 0x02 }
    let fineUnits = registers[Kind.control] & Kind.fineUnits
    let microteslaPerUnit = fineUnits == Kind.fineUnits ? 0.15 : 0.6
    let field = Kind.turned(world.truth(at: at).magneticField + noise.vector(0.3 * world.noiseScale))
    let trim: SIMD3<Double> = Kind.trim.map { ($0.values + 128) / 256 } ?? SIMD3(1, 1, 1)
    registers.store(lowByteFirst: .units(field / trim / microteslaPerUnit), at: UInt8(Kind.output))
    let isTooMuch = abs(field.x) + abs(field.y) + abs(field.z) >= 4912
    registers[Kind.status2] = fineUnits | (isTooMuch ? 0x08 : 0)
    let isSkipped = registers[Kind.status1] & 0x01 != 0
    registers[Kind.status1] = 0x01 | (isSkipped ? 0x02 : 0)
  }

  public mutating func read(_ register: UInt8) -> UInt8 {
    let register = Int(register)
    if (Kind.output...Kind.status2).contains(register) {
      // Reading any data byte clears the flag for new data.
      registers[Kind.status1] = 0
      isLocked = register != Kind.status2 && Kind.periods[mode] != nil
    }
    if let trim = Kind.trim, (trim.register..<trim.register + 3).contains(register), mode == trim.mode {
      return UInt8(trim.values[register - trim.register])
    }
    return registers.indices.contains(register) ? registers[register] : 0
  }

  /// When the latest measurement was complete, if it has not been stored yet.
  private mutating func complete(by now: MonotonicInstant) -> MonotonicInstant? {
    if let single = singleAt {
      guard now >= single else { return nil }
      singleAt = nil
      registers[Kind.control] &= ~Kind.modeBits
      return single
    }
    guard let period = Kind.periods[mode] else { return nil }
    return measurements.next(by: now, period: period * 1_000_000)
  }
}
