import MonotonicTime

public typealias SimulatedICM42688 = SimulatedRegisterChip<ICM42688Registers<ICM42688>>
public typealias SimulatedICM42605 = SimulatedRegisterChip<ICM42688Registers<ICM42605>>

/// The differences between an ICM-42605 and an ICM-42688-P.
public protocol ICM42688Kind {
  static var identity: UInt8 { get }
}

public enum ICM42688: ICM42688Kind {
  public static let identity: UInt8 = 0x47
}

public enum ICM42605: ICM42688Kind {
  public static let identity: UInt8 = 0x42
}

private enum Register {
  static let deviceConfiguration = 0x11
  static let fifoMode = 0x16
  static let temperature = 0x1D
  static let accelerometerData = 0x1F
  static let gyroscopeData = 0x25
  static let interruptStatus = 0x2D
  static let fifoCount = 0x2E
  static let fifoData = 0x30
  static let signalPathReset = 0x4B
  static let interface0 = 0x4C
  static let powerManagement = 0x4E
  static let gyroscope = 0x4F
  static let accelerometer = 0x50
  static let fifoContents = 0x5F
  static let whoAmI = 0x75
  static let bank = 0x76
}

/// The registers of an ICM-42688-P: banks, power modes, rates, ranges, the byte order, and the FIFO of packets with
/// headers, which drops the oldest packets when it is full.
public struct ICM42688Registers<Kind: ICM42688Kind>: SimulatedRegisters {
  public static var usualAddress: UInt8 { 0x68 }

  /// The size of the FIFO: 2 KB, with packets of sixteen bytes, or of eight with only one sensor.
  private static var fifoSize: Int { 2048 }

  private var banks = ICM42688Registers.resetBanks
  private var bank = 0
  // Noise densities from the data sheet: 2.8 mdps/√Hz and 70 µg/√Hz, at a bandwidth of about 200 Hz.
  private var inertia = SimulatedInertia(seed: 42688, ratesSigma: 0.04 * .pi / 180, forceSigma: 0.01)
  private var packets: [[UInt8]] = []
  /// The rest of the packet that is being read.
  private var packet: ArraySlice<UInt8> = []
  private var isFull = false
  private var wasReset = true
  /// When each sensor was switched on.
  private var accelerometerSince: MonotonicInstant?
  private var gyroscopeSince: MonotonicInstant?

  public init() {}

  private static var resetBanks: [[UInt8]] {
    var banks = [[UInt8]](repeating: [UInt8](repeating: 0, count: 128), count: 5)
    banks[0][0x13] = 0x05
    banks[0][Register.interface0] = 0x30
    banks[0][0x4D] = 0x91
    banks[0][Register.gyroscope] = 0x06
    banks[0][Register.accelerometer] = 0x06
    banks[0][0x51] = 0x16
    banks[0][0x52] = 0x11
    banks[0][0x53] = 0x0D
    banks[0][0x54] = 0x23
    banks[0][0x64] = 0x10
    banks[0][0x65] = 0x10
    banks[0][Register.whoAmI] = Kind.identity
    banks[1][0x7A] = 0x83
    banks[1][0x7C] = 0x1F
    return banks
  }

  public static func next(_ register: UInt8) -> UInt8 {
    Int(register) == Register.fifoData ? register : register &+ 1
  }

  public mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant) {
    let register = Int(register)
    if register == Register.bank { return bank = min(Int(value & 0x07), 4) }
    guard register < 128 else { return }
    guard bank == 0 else { return banks[bank][register] = value }
    switch register {
    case Register.temperature...Register.fifoData, Register.whoAmI: return
    case Register.deviceConfiguration where value & 0x01 != 0: self = ICM42688Registers()
    case Register.signalPathReset:
      if value & 0x02 != 0 { flush(at: now) }
    default:
      banks[0][register] = value
      switch register {
      case Register.powerManagement:
        accelerometerSince = value & 0x03 >= 0x02 ? accelerometerSince ?? now : nil
        gyroscopeSince = value & 0x0C == 0x0C ? gyroscopeSince ?? now : nil
        inertia.begin(at: sampling == nil ? nil : now)
      case Register.fifoMode:
        if value & 0xC0 == 0 { flush(at: now) }
        inertia.begin(at: sampling == nil ? nil : now)
      case Register.fifoContents, Register.gyroscope, Register.accelerometer:
        inertia.begin(at: sampling == nil ? nil : now)
      default: break
      }
    }
  }

  public mutating func read(_ register: UInt8) -> UInt8 {
    let register = Int(register)
    if register == Register.bank { return UInt8(bank) }
    guard register < 128 else { return 0 }
    guard bank == 0 else { return banks[bank][register] }
    switch register {
    case Register.interruptStatus:
      defer { (isFull, wasReset) = (false, false) }
      return (wasReset ? 0x10 : 0) | (isFull ? 0x02 : 0) | (sampling == nil ? 0 : 0x08)
    case Register.fifoCount, Register.fifoCount + 1:
      let bytes = packets.reduce(0) { $0 + $1.count }
      let count = banks[0][Register.interface0] & 0x40 == 0 ? bytes : packets.count
      let isHighFirst = banks[0][Register.interface0] & 0x20 != 0
      let isHigh = (register == Register.fifoCount) == isHighFirst
      return UInt8(truncatingIfNeeded: isHigh ? count >> 8 : count)
    case Register.fifoData:
      if packet.isEmpty { packet = packets.isEmpty ? [0xFF] : packets.removeFirst()[...] }
      return packet.removeFirst()
    default: return banks[0][register]
    }
  }

  public mutating func measure(_ world: World, at now: MonotonicInstant) {
    let degreesPerUnit = 2000 / Double(1 << Int(banks[0][Register.gyroscope] >> 5)) / 32768
    let gravitiesPerUnit = 16 / Double(1 << Int(banks[0][Register.accelerometer] >> 5 & 3)) / 32768
    let raw = inertia.raw(
      world.truth(at: now), degreesPerUnit: degreesPerUnit, gravitiesPerUnit: gravitiesPerUnit)
    // A sensor measures only after its start-up time.
    let nothing = SIMD3<Int16>(repeating: .min)
    let force = accelerometerSince.map { now - $0 >= .milliseconds(10) } ?? false
    let rates = gyroscopeSince.map { now - $0 >= .milliseconds(30) } ?? false
    store(axes: force ? raw.accelerometer : nothing, at: Register.accelerometerData)
    store(axes: rates ? raw.gyroscope : nothing, at: Register.gyroscopeData)
    let kelvins = world.temperatureCelsius - 25
    let hasTemperature = (force || rates) && banks[0][Register.powerManagement] & 0x20 == 0
    let temperature = hasTemperature ? Int16(kelvins * 132.48) : Int16.min
    store([temperature], at: Register.temperature)
    guard let sampling else { return }
    var taken: [[UInt8]] = []
    let limit = ICM42688Registers.fifoSize / (sampling.sensors == 0x03 ? 16 : 8)
    let isHighFirst = banks[0][Register.interface0] & 0x10 != 0
    let lost = inertia.takeDue(at: now, period: sampling.period, limit: limit) { number, instant, inertia in
      let raw = inertia.raw(
        world.truth(at: instant), degreesPerUnit: degreesPerUnit, gravitiesPerUnit: gravitiesPerUnit)
      let headers: [UInt8: UInt8] = [0x01: 0x40, 0x02: 0x20, 0x03: 0x68]
      var packet = [headers[sampling.sensors] ?? 0]
      for (sensor, axes) in [(UInt8(0x01), raw.accelerometer), (0x02, raw.gyroscope)]
      where sampling.sensors & sensor != 0 {
        if isHighFirst { packet.append(highByteFirst: axes) } else { packet.append(lowByteFirst: axes) }
      }
      packet.append(UInt8(bitPattern: Int8(clamping: Int(kelvins * 2.07))))
      if sampling.sensors == 0x03 {
        let microseconds = number * Int(sampling.period / 1000)
        let time = [UInt8(truncatingIfNeeded: microseconds >> 8), UInt8(truncatingIfNeeded: microseconds)]
        packet += isHighFirst ? time : time.reversed()
      }
      taken.append(packet)
    }
    packets += taken
    packets.removeFirst(max(0, packets.count - limit))
    if lost > 0 || packets.count >= limit { isFull = true }
  }

  private mutating func flush(at now: MonotonicInstant) {
    (packets, packet, isFull) = ([], [], false)
    inertia.begin(at: sampling == nil ? nil : now)
  }

  private mutating func store(axes: SIMD3<Int16>, at register: Int) { store([axes.x, axes.y, axes.z], at: register) }

  /// Stores values in the configured byte order.
  private mutating func store(_ values: [Int16], at register: Int) {
    let isHighFirst = banks[0][Register.interface0] & 0x10 != 0
    for (index, value) in values.enumerated() {
      let (high, low) = (UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value))
      banks[0][register + 2 * index] = isHighFirst ? high : low
      banks[0][register + 2 * index + 1] = isHighFirst ? low : high
    }
  }

  /// The sensors that write to the FIFO, and the sampling period in nanoseconds; `nil` while nothing enters the FIFO.
  private var sampling: (sensors: UInt8, period: Int64)? {
    let sensors = banks[0][Register.fifoContents] & 0x03
    guard banks[0][Register.fifoMode] >> 6 != 0, sensors != 0 else { return nil }
    if sensors & 0x01 != 0, accelerometerSince == nil { return nil }
    if sensors & 0x02 != 0, gyroscopeSince == nil { return nil }
    let code = banks[0][sensors & 0x02 != 0 ? Register.gyroscope : Register.accelerometer] & 0x0F
    if sensors == 0x03, banks[0][Register.accelerometer] & 0x0F != code { return nil }
    let rates: [UInt8: Double] = [
      3: 8000, 4: 4000, 5: 2000, 6: 1000, 7: 200, 8: 100, 9: 50, 10: 25, 11: 12.5, 15: 500,
    ]
    return rates[code].map { (sensors, Int64(1e9 / $0)) }
  }
}
