/// The messages that configure receivers up to protocol 23, one for each subject (u-blox M8 protocol description,
/// 32.10).
extension UBXMessage {
  /// CFG-RATE: the interval between two measurements.
  ///
  /// - Parameter timeReference: 0 for UTC, 1 for GPS
  public static func rate(milliseconds: UInt16, timeReference: UInt16) -> UBXMessage {
    var payload: [UInt8] = []
    payload.append(littleEndian: milliseconds)
    payload.append(littleEndian: UInt16(1))
    payload.append(littleEndian: timeReference)
    return UBXMessage(UBXCommandKind.cfgRATE, payload)
  }

  /// CFG-MSG: the rate of a message on the present port, in epochs per message; 0 means never.
  public static func rate(of output: UBXOutput, _ rate: UInt8) -> UBXMessage {
    UBXMessage(UBXCommandKind.cfgMSG, [UInt8(output.kind >> 8), UInt8(output.kind & 0xFF), rate])
  }

  /// CFG-NAV5 with only the dynamic model.
  public static func dynamicModel(_ model: UInt8) -> UBXMessage {
    UBXMessage(UBXCommandKind.cfgNAV5, [1, 0, model] + [UInt8](repeating: 0, count: 33))
  }

  /// CFG-RXM: the power mode up to protocol 17.
  ///
  /// - Parameter mode: 0 full power, 1 saving, 4 eco
  public static func lowPowerMode(_ mode: UInt8) -> UBXMessage { UBXMessage(UBXCommandKind.cfgRXM, [0, mode]) }

  /// CFG-PMS: the power setup from protocol 18 on.
  ///
  /// - Parameter setup: 0 full power, 1 balanced, 3 aggressive, with one fix per second
  public static func powerSetup(_ setup: UInt8) -> UBXMessage {
    UBXMessage(UBXCommandKind.cfgPMS, [0, setup, 0, 0, 0, 0, 0, 0])
  }

  /// CFG-CFG: saves the present configuration in each of battery-backed RAM, flash and EEPROM that the receiver has.
  public static let save = UBXMessage(
    UBXCommandKind.cfgCFG, [0, 0, 0, 0, 0x1F, 0x1F, 0, 0, 0, 0, 0, 0, 0x07])
}

/// CFG-PRT: the settings of one port of a receiver. The settings can only be written as a whole, so change only
/// settings that were read.
public struct UBXPortConfiguration: Equatable, Sendable {
  private var payload: [UInt8]

  /// The request for the settings of the present port.
  public static let request = UBXMessage(UBXCommandKind.cfgPRT)

  /// `nil` for another payload.
  public init?(payload: [UInt8]) {
    guard payload.count == 20 else { return nil }
    self.payload = payload
  }

  /// The number of the port: 0 I2C, 1 and 2 UARTs, 3 USB, 4 SPI.
  public var number: UInt8 { payload[0] }

  /// Whether the port is UART 1 or 2. Other ports have no speed.
  public var isUART: Bool { payload[0] == 1 || payload[0] == 2 }

  public var baudRate: Int {
    get { Int(payload.littleEndian(at: 8, as: UInt32.self)) }
    set { write(UInt32(newValue), at: 8) }
  }

  public var sendsUBX: Bool {
    get { payload[14] & 1 != 0 }
    set { payload[14] = newValue ? payload[14] | 1 : payload[14] & ~1 }
  }

  public var sendsNMEA: Bool {
    get { payload[14] & 2 != 0 }
    set { payload[14] = newValue ? payload[14] | 2 : payload[14] & ~2 }
  }

  public var message: UBXMessage { UBXMessage(UBXCommandKind.cfgPRT, payload) }

  private mutating func write(_ number: UInt32, at offset: Int) {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: number)
    payload.replaceSubrange(offset..<offset + 4, with: bytes)
  }
}

/// CFG-GNSS: the enabled constellations, with the channels that the receiver assigned.
public struct UBXConstellations: Equatable, Sendable {
  /// A constellation. The raw value is its number in messages.
  public enum System: UInt8, Sendable {
    case gps = 0
    case sbas = 1
    case galileo = 2
    case beidou = 3
    case qzss = 5
    case glonass = 6
  }

  private var payload: [UInt8]

  public static let request = UBXMessage(UBXCommandKind.cfgGNSS)

  /// `nil` for another payload.
  public init?(payload: [UInt8]) {
    guard payload.count >= 4, payload.count == 4 + 8 * Int(payload[3]) else { return nil }
    self.payload = payload
  }

  private var blocks: StrideTo<Int> { stride(from: 4, to: payload.count, by: 8) }

  /// The constellations that the receiver supports.
  public var known: [System] { blocks.compactMap { System(rawValue: payload[$0]) } }

  public var enabled: [System] {
    get { blocks.filter { payload[$0 + 4] & 1 != 0 }.compactMap { System(rawValue: payload[$0]) } }
    set {
      for block in blocks {
        guard let system = System(rawValue: payload[block]) else { continue }
        payload[block + 4] = newValue.contains(system) ? payload[block + 4] | 1 : payload[block + 4] & ~1
      }
    }
  }

  public var message: UBXMessage { UBXMessage(UBXCommandKind.cfgGNSS, payload) }
}
