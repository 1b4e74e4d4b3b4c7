/// A key of the configuration database that receivers have from protocol 27 on (u-blox F9 interface description, 5).
public struct UBXKey: Hashable, Sendable, RawRepresentable {
  public let rawValue: UInt32

  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The size of the value, encoded in the key itself; `nil` for an invalid key.
  public var byteCount: Int? {
    switch rawValue >> 28 & 0x7 {
    // A value of one bit takes a byte.
    case 1, 2: 1
    case 3: 2
    case 4: 4
    case 5: 8
    default: nil
    }
  }

  public static let measurementMilliseconds = UBXKey(rawValue: 0x3021_0001)
  public static let dynamicModel = UBXKey(rawValue: 0x2011_0021)
  public static let acknowledgesAiding = UBXKey(rawValue: 0x1011_0025)
  public static let operateMode = UBXKey(rawValue: 0x20D0_0001)
  public static let uart1BaudRate = UBXKey(rawValue: 0x4052_0001)

  public static let gps = UBXKey(rawValue: 0x1031_001F)
  public static let sbas = UBXKey(rawValue: 0x1031_0020)
  public static let galileo = UBXKey(rawValue: 0x1031_0021)
  public static let beidou = UBXKey(rawValue: 0x1031_0022)
  public static let qzss = UBXKey(rawValue: 0x1031_0024)
  public static let glonass = UBXKey(rawValue: 0x1031_0025)
}

/// The ports of a receiver whose output the program configures by keys.
public enum UBXPort: UInt32, Sendable {
  case i2c = 0
  case uart1 = 1
  case usb = 3

  /// The key that enables UBX output.
  public var sendsUBX: UBXKey { UBXKey(rawValue: 0x1072_0001 + rawValue << 17) }
  public var sendsNMEA: UBXKey { UBXKey(rawValue: 0x1072_0002 + rawValue << 17) }

  /// The key of a message's rate on the port, in epochs per message; the value 0 means never. `nil` if the message has
  /// no such key.
  public func rate(of output: UBXOutput) -> UBXKey? {
    // The keys of one message are consecutive: I2C, UART1, UART2, USB, SPI.
    output.uart1Rate.map { UBXKey(rawValue: $0 - UBXPort.uart1.rawValue + rawValue) }
  }
}

/// The messages that a receiver sends periodically if it is configured to.
public struct UBXOutput: Equatable, Sendable {
  public let kind: UInt16
  /// The key of the message's rate on UART 1; `nil` if there is none.
  let uart1Rate: UInt32?

  public static let navPOSLLH = UBXOutput(kind: UBXKind.navPOSLLH, uart1Rate: nil)
  public static let navSTATUS = UBXOutput(kind: UBXKind.navSTATUS, uart1Rate: 0x2091_001B)
  public static let navDOP = UBXOutput(kind: UBXKind.navDOP, uart1Rate: 0x2091_0039)
  public static let navSOL = UBXOutput(kind: UBXKind.navSOL, uart1Rate: nil)
  public static let navPVT = UBXOutput(kind: UBXKind.navPVT, uart1Rate: 0x2091_0007)
  public static let navVELNED = UBXOutput(kind: UBXKind.navVELNED, uart1Rate: nil)
  public static let navTIMEUTC = UBXOutput(kind: UBXKind.navTIMEUTC, uart1Rate: nil)
  public static let navSVINFO = UBXOutput(kind: UBXKind.navSVINFO, uart1Rate: nil)
  public static let navSAT = UBXOutput(kind: UBXKind.navSAT, uart1Rate: 0x2091_0016)
  public static let navCOV = UBXOutput(kind: UBXKind.navCOV, uart1Rate: 0x2091_0084)
  public static let navEOE = UBXOutput(kind: UBXKind.navEOE, uart1Rate: 0x2091_0160)
  public static let monRF = UBXOutput(kind: 0x0A38, uart1Rate: 0x2091_035A)
  public static let rxmRTCM = UBXOutput(kind: UBXKind.rxmRTCM, uart1Rate: 0x2091_0269)

  public static let gga = UBXOutput(kind: 0xF000, uart1Rate: 0x2091_00BB)
  public static let gsa = UBXOutput(kind: 0xF002, uart1Rate: 0x2091_00C0)
  public static let gsv = UBXOutput(kind: 0xF003, uart1Rate: 0x2091_00C5)
  public static let rmc = UBXOutput(kind: 0xF004, uart1Rate: 0x2091_00AC)
  public static let gst = UBXOutput(kind: 0xF007, uart1Rate: 0x2091_00D4)

  /// The messages with the solution, its errors and its satellites in a protocol version.
  ///
  /// - Parameter version: the protocol version in hundredths
  public static func solution(version: Int) -> [UBXOutput] {
    switch version {
    case ..<1400: [.navSOL, .navPOSLLH, .navVELNED, .navTIMEUTC, .navDOP, .navSVINFO]
    case ..<1500: [.navPVT, .navDOP, .navSVINFO]
    case ..<1800: [.navPVT, .navSTATUS, .navDOP, .navSAT]
    case ..<2700: [.navPVT, .navSTATUS, .navDOP, .navSAT, .navEOE]
    default: [.navPVT, .navSTATUS, .navDOP, .navCOV, .navSAT, .monRF, .navEOE]
    }
  }

  /// The NMEA sentences with the same content as the messages of ``solution(version:)``.
  public static let sentences: [UBXOutput] = [.gga, .gsa, .gsv, .rmc, .gst]
}

/// The memories of a receiver's configuration.
public struct UBXLayers: OptionSet, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// RAM, which a reset, backup mode, or the loss of the supply clears.
  public static let ram = UBXLayers(rawValue: 1)
  /// Battery-backed RAM, which lasts as long as the backup supply.
  public static let battery = UBXLayers(rawValue: 2)
  public static let flash = UBXLayers(rawValue: 4)
}

/// A key and its value. The key determines the size of the value in a message.
public struct UBXSetting: Equatable, Sendable {
  public let key: UBXKey
  public let value: UInt64

  public init(_ key: UBXKey, _ value: some BinaryInteger) {
    self.key = key
    self.value = UInt64(truncatingIfNeeded: value)
  }

  public init(_ key: UBXKey, _ isOn: Bool) { self.init(key, isOn ? 1 : 0) }
}

extension UBXMessage {
  /// CFG-VALSET: sets up to 64 keys, all or none of them.
  public static func set(_ settings: [UBXSetting], in layers: UBXLayers) -> UBXMessage {
    var payload: [UInt8] = [0, layers.rawValue, 0, 0]
    for setting in settings.prefix(64) {
      guard let count = setting.key.byteCount else { continue }
      payload.append(littleEndian: setting.key.rawValue)
      var bytes: [UInt8] = []
      bytes.append(littleEndian: setting.value)
      payload += bytes.prefix(count)
    }
    return UBXMessage(UBXCommandKind.cfgVALSET, payload)
  }

  /// CFG-VALGET: requests the present values of up to 64 keys. A receiver that lacks one of the keys refuses the
  /// request.
  public static func get(_ keys: [UBXKey]) -> UBXMessage {
    var payload: [UInt8] = [0, 0, 0, 0]
    for key in keys.prefix(64) { payload.append(littleEndian: key.rawValue) }
    return UBXMessage(UBXCommandKind.cfgVALGET, payload)
  }
}

extension [UBXSetting] {
  /// The answer to CFG-VALGET; `nil` if it is another message or incomplete.
  public init?(valuesOf payload: [UInt8]) {
    // In a request the version is 0.
    guard payload.count >= 4, payload[0] == 1 else { return nil }
    var settings: [UBXSetting] = []
    var offset = 4
    while offset < payload.count {
      let key = UBXKey(rawValue: payload.littleEndian(at: offset, as: UInt32.self))
      guard let count = key.byteCount, offset + 4 + count <= payload.count else { return nil }
      let value = payload[(offset + 4)..<(offset + 4 + count)].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      settings.append(UBXSetting(key, value))
      offset += 4 + count
    }
    self = settings
  }
}
