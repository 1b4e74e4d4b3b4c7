import Guarding
import HardwareIO
import MonotonicTime

/// An MS5611 at the command level: the PROM with its CRC, conversions that take time and are spoilt if they are read
/// too early, and results that can be read once.
public final class SimulatedMS5611: SimulatedChip {
  public let name: String
  public let maximumReadLength = 4096
  public let address: UInt8
  private let world: World
  private let clock: any MonotonicTimeSource
  private let isPowered: @Sendable () -> Bool
  private let interior = Guarded(MS5611Interior())

  /// - Parameters:
  ///   - name: the name of the bus
  ///   - isPowered: whether the chip has its supply; without it, the chip does not answer
  public init(
    name: String, world: World, clock: any MonotonicTimeSource = MonotonicClock(), address: UInt8 = 0x77,
    isPowered: @escaping @Sendable () -> Bool
  ) {
    self.name = name
    self.world = world
    self.clock = clock
    self.address = address
    self.isPowered = isPowered
  }

  /// Records that the supply has failed, so that results are lost.
  public func lostPower() { interior.withLock { $0 = MS5611Interior() } }

  public func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
    guard address == self.address, isPowered() else { throw .noAcknowledge(bus: name, address: address) }
    interior.withLock { interior in
      for operation in operations {
        switch operation {
        case .write(let bytes): for command in bytes { interior.take(command, world, at: clock.now) }
        case .read(let bytes): for index in 0..<bytes.count { bytes[index] = interior.nextByte() }
        }
      }
    }
  }
}

/// The internal state of an MS5611.
private struct MS5611Interior {
  /// A measurement in progress.
  private struct Conversion {
    var isTemperature: Bool
    /// The level of oversampling, from 0 for 256 to 4 for 4096.
    var level: Int
    var began: MonotonicInstant
    var isSpoilt = false
  }

  /// The example of the data sheet, between a word reserved for the maker and a serial number with the CRC.
  private static let prom: [UInt16] = [0x0048, 40127, 36924, 23317, 23282, 33464, 28312, 0x1235]
  private static let c: (Int64, Int64, Int64, Int64, Int64, Int64) = (40127, 36924, 23317, 23282, 33464, 28312)
  /// The typical duration of a conversion, and its noise, by oversampling.
  private static let microseconds: [Int64] = [540, 1060, 2080, 4130, 8220]
  private static let noisePascals = [6.5, 4.2, 2.7, 1.8, 1.2]
  private static let noiseCelsius = [0.012, 0.008, 0.005, 0.003, 0.002]
  private static let range: Range<Int64> = 0..<0x100_0000

  private var conversion: Conversion?
  private var result: UInt32 = 0
  /// The next bytes to read; the first byte is in the highest bits.
  private var answer: UInt32 = 0
  private var resetAt: MonotonicInstant?
  private var noise = Noise(seed: 5611)

  init() {}

  mutating func nextByte() -> UInt8 {
    defer { answer <<= 8 }
    return UInt8(truncatingIfNeeded: answer >> 24)
  }

  mutating func take(_ command: UInt8, _ world: World, at now: MonotonicInstant) {
    convert(world, by: now)
    answer = 0
    switch command {
    case 0x1E:
      conversion = nil
      result = 0
      resetAt = now
    case 0x40...0x49, 0x50...0x59:
      conversion = Conversion(isTemperature: command >= 0x50, level: Int(command & 0x0F) / 2, began: now)
      result = 0
    case 0x00:
      conversion?.isSpoilt = true
      answer = result << 8
      result = 0
    case 0xA0...0xAF:
      // The PROM can be read 2.8 ms after a reset.
      if let resetAt, now - resetAt < .microseconds(2800) { return }
      answer = UInt32(MS5611Interior.prom[Int(command & 0x0F) / 2]) << 16
    default: break
    }
  }

  private mutating func convert(_ world: World, by now: MonotonicInstant) {
    guard let conversion else { return }
    let nanoseconds = 1000 * MS5611Interior.microseconds[conversion.level]
    guard now - conversion.began >= .nanoseconds(nanoseconds) else { return }
    self.conversion = nil
    if conversion.isSpoilt { return }
    let at = conversion.began + .nanoseconds(nanoseconds / 2)
    let celsius = world.temperatureCelsius
    if conversion.isTemperature {
      let sigma = MS5611Interior.noiseCelsius[conversion.level]
      result = UInt32(MS5611Interior.rawTemperature(celsius + sigma * world.noiseScale * noise.normal()))
    } else {
      let sigma = MS5611Interior.noisePascals[conversion.level]
      let wanted = Int64((world.truth(at: at).pressurePascals + sigma * world.noiseScale * noise.normal()) * 256)
      // The pressure cell depends on the actual temperature, regardless of the last temperature measurement.
      let temperature = MS5611Interior.rawTemperature(celsius)
      result = UInt32(MS5611Interior.range.bisect { MS5611Interior.pressure($0, temperature) < wanted })
    }
  }

  private static func rawTemperature(_ celsius: Double) -> Int64 {
    let wanted = Int64((celsius * 25600).rounded())
    return range.bisect { temperature($0) < wanted }
  }

  /// The temperature in units of 1/25600 °C.
  private static func temperature(_ raw: Int64) -> Int64 {
    let difference = raw - c.4 << 8
    let deviation = (c.5 * difference) >> 15
    let bend = deviation < 0 ? (difference * difference) >> 23 : 0
    return 512_000 + deviation - bend
  }

  /// The pressure in units of 1/256 Pa.
  private static func pressure(_ raw: Int64, _ rawTemperature: Int64) -> Int64 {
    let difference = rawTemperature - c.4 << 8
    var offset = c.1 << 16 + (c.3 * difference) >> 7
    var slope = c.0 << 15 + (c.2 * difference) >> 8
    let hundredths = 2000 + (c.5 * difference) >> 23
    if hundredths < 2000 {
      let cold = (5 * (hundredths - 2000) * (hundredths - 2000)) >> 1
      offset -= cold
      slope -= cold >> 1
    }
    if hundredths < -1500 {
      let veryCold = (hundredths + 1500) * (hundredths + 1500)
      offset -= 7 * veryCold
      slope -= (11 * veryCold) >> 1
    }
    return ((raw * slope) >> 21 - offset) >> 7
  }
}
