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
