import MonotonicTime

public typealias SimulatedICM20948 = SimulatedRegisterChip<ICM20948Registers>

/// The registers of an ICM-20948: banks, sleep, dividers, ranges, and the FIFO, which stops or overwrites when it is
/// full. The magnetometer in its package is a separate chip, `SimulatedAK09916`, which answers while the bypass is on.
public struct ICM20948Registers: SimulatedRegisters {
  /// The size of the FIFO in bytes.
  private static let fifoSize = 512

  public static let usualAddress: UInt8 = 0x69

  private var banks = ICM20948Registers.resetBanks
  private var bank = 0
  // Noise densities from the data sheet: 15 mdps/√Hz and 230 µg/√Hz, at a bandwidth of about 30 Hz.
  private var inertia = SimulatedInertia(seed: 20948, ratesSigma: 0.08 * .pi / 180, forceSigma: 0.014)
  private var fifo: [UInt8] = []
  private var hasOverflown = false

  public init() {}

  private enum Register {
    static let whoAmI = 0x00
    static let userControl = 0x03
    static let powerManagement1 = 0x06
    static let interruptPin = 0x0F
    static let dataReadyStatus = 0x1A
    static let overflowStatus = 0x1B
    static let accelerometerData = 0x2D
    static let gyroscopeData = 0x33
    static let temperature = 0x39
    static let fifoEnable2 = 0x67
    static let fifoReset = 0x68
    static let fifoMode = 0x69
    static let fifoCount = 0x70
    static let fifo = 0x72
    static let bank = 0x7F

    // Bank 2
    static let gyroscopeDivider = 0x00
    static let gyroscope = 0x01
    static let accelerometerDivider = 0x10
    static let accelerometer = 0x14
  }

  private static let resetBanks: [[UInt8]] = {
    var banks = [[UInt8]](repeating: [UInt8](repeating: 0, count: 128), count: 4)
    banks[0][Register.whoAmI] = 0xEA
    banks[0][0x05] = 0x40
    banks[0][Register.powerManagement1] = 0x41
    banks[2][Register.gyroscope] = 0x01
    banks[2][Register.accelerometer] = 0x01
    return banks
  }()

  public static func next(_ register: UInt8) -> UInt8 { Int(register) == Register.fifo ? register : register &+ 1 }

  public mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant) {
    let register = Int(register)
    guard register < 128 else { return }
    if register == Register.bank { return bank = Int(value >> 4 & 0x03) }
    guard bank == 0 else { return banks[bank][register] = value }
    switch register {
    case Register.whoAmI, Register.dataReadyStatus...Register.temperature + 1, Register.fifoCount...Register.fifo:
      return
    case Register.powerManagement1 where value & 0x80 != 0: self = ICM20948Registers()
    case Register.fifoReset:
      banks[0][register] = value
      (fifo, hasOverflown) = ([], false)
      inertia.begin(at: isFIFOOn ? now : nil)
    case Register.userControl:
      banks[0][register] = value
      inertia.begin(at: isFIFOOn ? now : nil)
    default: banks[0][register] = value
    }
  }

  public mutating func read(_ register: UInt8) -> UInt8 {
    let register = Int(register)
    guard register < 128 else { return 0 }
    if register == Register.bank { return UInt8(bank << 4) }
    guard bank == 0 else { return banks[bank][register] }
    switch register {
    case Register.overflowStatus:
      defer { hasOverflown = false }
      return hasOverflown ? 0x01 : 0
    case Register.fifoCount: return UInt8(fifo.count >> 8)
    case Register.fifoCount + 1: return UInt8(truncatingIfNeeded: fifo.count)
    case Register.fifo: return fifo.isEmpty ? 0xFF : fifo.removeFirst()
    default: return banks[0][register]
    }
  }

  public mutating func measure(_ world: World, at now: MonotonicInstant) {
    guard banks[0][Register.powerManagement1] & 0x40 == 0 else { return }
    let degreesPerUnit = Double(250 << Int(banks[2][Register.gyroscope] >> 1 & 3)) / 32768
    let gravitiesPerUnit = Double(2 << Int(banks[2][Register.accelerometer] >> 1 & 3)) / 32768
    let raw = inertia.raw(
      world.truth(at: now), degreesPerUnit: degreesPerUnit, gravitiesPerUnit: gravitiesPerUnit)
    var data: [UInt8] = []
    data.append(highByteFirst: raw.accelerometer)
    data.append(highByteFirst: raw.gyroscope)
    let temperature = Int((world.temperatureCelsius - 21) * 333.87)
    data += [UInt8(truncatingIfNeeded: temperature >> 8), UInt8(truncatingIfNeeded: temperature)]
    banks[0].replaceSubrange(Register.accelerometerData..<Register.accelerometerData + data.count, with: data)
    banks[0][Register.dataReadyStatus] = 0x01
    guard let period else { return }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(ICM20948Registers.fifoSize)
    let lost = inertia.takeDue(at: now, period: period, limit: 100) { _, instant, inertia in
      let raw = inertia.raw(
        world.truth(at: instant), degreesPerUnit: degreesPerUnit, gravitiesPerUnit: gravitiesPerUnit)
      bytes.append(highByteFirst: raw.accelerometer)
      bytes.append(highByteFirst: raw.gyroscope)
    }
    if lost > 0 || fifo.count + bytes.count > ICM20948Registers.fifoSize { hasOverflown = true }
    if banks[0][Register.fifoMode] & 0x01 != 0 {
      let room = (ICM20948Registers.fifoSize - fifo.count) / 12 * 12
      fifo += bytes.prefix(room)
    } else {
      fifo += bytes
      fifo.removeFirst(max(0, fifo.count - ICM20948Registers.fifoSize))
    }
  }

  fileprivate var isBypassOn: Bool {
    banks[0][Register.interruptPin] & 0x02 != 0 && banks[0][Register.userControl] & 0x20 == 0
  }

  private var isFIFOOn: Bool {
    banks[0][Register.userControl] & 0x40 != 0 && banks[0][Register.fifoReset] & 0x1F == 0
  }

  /// The sampling period in nanoseconds; `nil` unless both sensors write to the FIFO at the same rate.
  private var period: Int64? {
    let divider = Int(banks[2][Register.gyroscopeDivider])
    let other =
      Int(banks[2][Register.accelerometerDivider] & 0x0F) << 8 | Int(banks[2][Register.accelerometerDivider + 1])
    // Without the filter the sensors are much faster, which is not simulated.
    let areFiltered = banks[2][Register.gyroscope] & banks[2][Register.accelerometer] & 0x01 != 0
    guard isFIFOOn, areFiltered, other == divider, banks[0][Register.fifoEnable2] & 0x1F == 0x1E else { return nil }
    return Int64(Double(divider + 1) * 1e9 / 1125)
  }
}

extension SimulatedICM20948 {
  /// Whether the magnetometer in the chip's package is connected to the host's bus.
  public var isBypassOn: Bool { look { $0.isBypassOn } ?? false }
}
