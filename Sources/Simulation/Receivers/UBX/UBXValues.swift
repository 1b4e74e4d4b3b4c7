/// CFG-VALSET, CFG-VALGET and CFG-VALDEL: settings by key, in layers.
extension UBXProtocol {
  private static let mostKeys = 64

  mutating func takeKeys(_ id: UInt8, _ payload: [UInt8], _ body: inout ReceiverBody) -> Bool {
    guard payload.count >= 4 else { return false }
    switch id {
    case 0x8A: return set(payload, &body)
    case 0x8B: return get(payload, &body)
    default: return delete(payload, body)
    }
  }

  // MARK: Set

  private mutating func set(_ payload: [UInt8], _ body: inout ReceiverBody) -> Bool {
    let layers = payload[1]
    guard layers & 7 != 0, layers & 4 == 0 || settings.hasFlash, let values = pairs(payload, body)
    else { return false }
    let action = payload[0] == 1 ? payload[2] & 3 : 0
    guard action != 0 else {
      isInTransaction = false
      transaction = []
      return put([(layers, values)], &body)
    }
    if action == 1 { transaction = [] } else if !isInTransaction { return false }
    isInTransaction = true
    transaction.append((layers, values))
    guard action == 3 else { return true }
    defer { (transaction, isInTransaction) = ([], false) }
    return put(transaction, &body)
  }

  /// Applies all changes or none.
  private mutating func put(_ changes: [(layers: UInt8, values: [UInt32: UInt64])], _ body: inout ReceiverBody) -> Bool
  {
    guard changes.allSatisfy({ isPossible($0.values) }) else { return false }
    for (layers, values) in changes {
      if layers & 1 != 0 { settings.ram.values.merge(values) { $1 } }
      if layers & 2 != 0 { settings.backup.values.merge(values) { $1 } }
      if layers & 4 != 0 { settings.flash.values.merge(values) { $1 } }
    }
    apply(&body)
    return true
  }

  private func isPossible(_ values: [UInt32: UInt64]) -> Bool {
    for (key, value) in values {
      switch key {
      case UBXKey.baudRate:
        guard [4800, 9600, 19200, 38400, 57600, 115_200, 230_400, 460_800, 921_600].contains(value) else {
          return false
        }
      case UBXKey.measurementRate: guard isPossible(measurementRate: value) else { return false }
      case UBXKey.navigationRate: guard (1...128).contains(value) else { return false }
      case UBXKey.dynamicModel:
        guard value < 256, UBXProtocol.dynamicModels(of: generation).contains(UInt8(value)) else { return false }
      case UBXKey.fixMode: guard (1...3).contains(value) else { return false }
      case UBXKey.operatingMode: guard value <= 2 else { return false }
      default: if key >> 28 == 1, value > 1 { return false }
      }
    }
    guard canListen(with: values) else { return false }
    // The receiver supports only one BeiDou signal at a time (M10).
    let signals = [UBXKey.beidouB1, UBXKey.beidouB1C].map { values[$0] ?? settings.value($0) }
    return signals != [1, 1]
  }

  /// Parses keys and values; `nil` if a key is unknown, if a value is truncated, or if there are no keys or more than
  /// 64.
  private func pairs(_ payload: [UInt8], _ body: borrowing ReceiverBody) -> [UInt32: UInt64]? {
    var values: [UInt32: UInt64] = [:]
    var at = 4
    while at < payload.count {
      guard at + 4 <= payload.count else { return nil }
      let key = UBXKey.kept(BinaryMessage.u4(payload, at), isOnI2C: body.configuration.isOnI2C)
      guard settings.factory.values[key] != nil, let size = UBXKey.size(key), at + 4 + size <= payload.count else {
        return nil
      }
      values[key] = payload[(at + 4)..<(at + 4 + size)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
      at += 4 + size
    }
    return values.isEmpty || values.count > UBXProtocol.mostKeys ? nil : values
  }

  // MARK: Get

  private func layer(_ number: UInt8) -> [UInt32: UInt64]? {
    switch number {
    case 0: settings.ram.values
    case 1: settings.backup.values
    case 2: settings.hasFlash ? settings.flash.values : nil
    case 7: settings.factory.values
    default: nil
    }
  }

  private func keys(_ payload: [UInt8], _ body: borrowing ReceiverBody) -> [UInt32]? {
    guard payload.count > 4, payload.count % 4 == 0 else { return nil }
    return stride(from: 4, to: payload.count, by: 4).map {
      UBXKey.kept(BinaryMessage.u4(payload, $0), isOnI2C: body.configuration.isOnI2C)
    }
  }

  private func get(_ payload: [UInt8], _ body: inout ReceiverBody) -> Bool {
    guard let values = layer(payload[1]), let wanted = keys(payload, body) else { return false }
    var found: [UInt32] = []
    for key in wanted {
      if key & 0xFFFF == 0xFFFF {
        // The key stands for all keys of a group, or of all groups.
        let isAll = UBXKey.group(key) == 0xFFF
        found += values.keys.filter { isAll || UBXKey.group($0) == UBXKey.group(key) }.sorted()
      } else if values[key] != nil {
        found.append(key)
      } else {
        return false
      }
    }
    let position = Int(BinaryMessage.u2(payload, 2))
    guard position < found.count else { return false }
    var message = BinaryMessage([1, payload[1], payload[2], payload[3]])
    for key in found.dropFirst(position).prefix(UBXProtocol.mostKeys) {
      message.u4(UBXKey.sent(key, isOnI2C: body.configuration.isOnI2C))
      let value = values[key] ?? 0
      for place in 0..<(UBXKey.size(key) ?? 0) { message.u1(UInt8(truncatingIfNeeded: value >> (8 * UInt64(place)))) }
    }
    send(message, 0x06, 0x8B, &body)
    return true
  }

  // MARK: Delete

  private mutating func delete(_ payload: [UInt8], _ body: borrowing ReceiverBody) -> Bool {
    let layers = payload[1]
    guard layers & 6 != 0, layers & 1 == 0, layers & 4 == 0 || settings.hasFlash, let unwanted = keys(payload, body),
      unwanted.allSatisfy({ settings.factory.values[$0] != nil })
    else { return false }
    for key in unwanted {
      if layers & 2 != 0 { settings.backup.values[key] = nil }
      if layers & 4 != 0 { settings.flash.values[key] = nil }
    }
    return true
  }
}
