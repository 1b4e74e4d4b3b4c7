/// The CFG messages of u-blox 6 to 8, which u-blox 9 still accepts.
extension UBXProtocol {
  /// Executes a CFG message. Returns whether it was accepted. A poll is also answered.
  mutating func takeConfiguration(_ id: UInt8, _ payload: [UInt8], _ body: inout ReceiverBody) -> Bool {
    if id == 0x09 { return takeStorage(payload, &body) }
    guard generation.hasLegacyConfiguration else { return false }
    switch id {
    case 0x00: return takePort(payload, &body)
    case 0x01: return takeRate(ofMessage: payload, &body)
    case 0x08: return takeRates(payload, &body)
    case 0x3E where generation.protocolVersion >= 14: return takeSystems(payload, &body)
    case 0x31: return takePulse(payload, &body)
    case 0x24, 0x23, 0x3B, 0x11, 0x86: return takeRecord(0x0600 | UInt32(id), payload, &body)
    default: return false
    }
  }

  /// Handles CFG-PRT. Only one port is connected.
  private mutating func takePort(_ payload: [UInt8], _ body: inout ReceiverBody) -> Bool {
    let isOnI2C = body.configuration.isOnI2C
    let number: UInt8 = isOnI2C ? 0 : 1
    if payload.count <= 1 {
      guard payload.first ?? number == number else { return false }
      var message = BinaryMessage([number, 0, 0, 0])
      // The mode is the format of a UART's bytes, or the address on I2C.
      message.u4(UInt32(isOnI2C ? 0x84 : generation.number < 8 ? 0x8D0 : 0x8C0))
      message.u4(UInt32(isOnI2C ? 0 : body.speed))
      message.u2(mask([UBXKey.inputUBX, UBXKey.inputNMEA]) | (settings.isOn(UBXKey.inputRTCM3) ? 0x20 : 0))
      message.u2(mask([UBXKey.outputUBX, UBXKey.outputNMEA]))
      message.zeros(4)
      send(message, 0x06, 0x00, &body)
      return true
    }
    let speeds = [4800, 9600, 19200, 38400, 57600, 115_200, 230_400, 460_800, 921_600]
    guard payload.count == 20, payload[0] == number else { return payload.count == 20 && payload[0] <= 4 }
    let speed = isOnI2C ? body.speed : Int(BinaryMessage.u4(payload, 8))
    guard speeds.contains(speed) else { return false }
    let input = BinaryMessage.u2(payload, 12)
    let output = BinaryMessage.u2(payload, 14)
    settings.ram.values[UBXKey.baudRate] = UInt64(speed)
    settings.ram.values[UBXKey.inputUBX] = UInt64(input & 1)
    settings.ram.values[UBXKey.inputNMEA] = UInt64(input >> 1 & 1)
    settings.ram.values[UBXKey.inputRTCM3] = UInt64(input >> 5 & 1)
    settings.ram.values[UBXKey.outputUBX] = UInt64(output & 1)
    settings.ram.values[UBXKey.outputNMEA] = UInt64(output >> 1 & 1)
    // The speed changes immediately, and the acknowledgement is sent at the new speed.
    apply(&body)
    return true
  }

  private func mask(_ keys: [UInt32]) -> UInt16 {
    keys.enumerated().reduce(0) { settings.isOn($1.element) ? $0 | 1 << UInt16($1.offset) : $0 }
  }

  /// Handles CFG-MSG: two bytes poll the rate, three set it for the port in use, eight for all ports.
  private mutating func takeRate(ofMessage payload: [UInt8], _ body: inout ReceiverBody) -> Bool {
    guard [2, 3, 8].contains(payload.count), let output = UBXOutput.find(payload[0], payload[1], in: generation) else {
      return false
    }
    if payload.count == 2 {
      let rate = UInt8(settings.value(output.key))
      let rates = body.configuration.isOnI2C ? [rate, 0] : [0, rate]
      send(BinaryMessage([payload[0], payload[1]] + rates + [0, 0, 0, 0]), 0x06, 0x01, &body)
    } else {
      let own = body.configuration.isOnI2C ? 2 : 3
      settings.ram.values[output.key] = UInt64(payload[payload.count == 3 ? 2 : own])
    }
    return true
  }

  private mutating func takeRates(_ payload: [UInt8], _ body: inout ReceiverBody) -> Bool {
    if payload.isEmpty {
      var message = BinaryMessage()
      message.u2(UInt16(settings.value(UBXKey.measurementRate)))
      message.u2(UInt16(settings.value(UBXKey.navigationRate)))
      message.u2(UInt16(settings.value(UBXKey.timeReference)))
      send(message, 0x06, 0x08, &body)
      return true
    }
    guard payload.count == 6, isPossible(measurementRate: UInt64(BinaryMessage.u2(payload, 0))),
      (1...127).contains(BinaryMessage.u2(payload, 2))
    else { return false }
    settings.ram.values[UBXKey.measurementRate] = UInt64(BinaryMessage.u2(payload, 0))
    settings.ram.values[UBXKey.navigationRate] = UInt64(BinaryMessage.u2(payload, 2))
    settings.ram.values[UBXKey.timeReference] = UInt64(BinaryMessage.u2(payload, 4))
    apply(&body)
    return true
  }

  /// Whether the receiver supports an interval between measurements. u-blox 6 measures at most five times a second, 7
  /// and 8 ten times, and later generations 25 times. The longest interval is 65,535 ms.
  func isPossible(measurementRate milliseconds: UInt64) -> Bool {
    milliseconds >= (generation.number == 6 ? 200 : generation.number < 9 ? 100 : 40) && milliseconds <= 65_535
  }

  private mutating func takeSystems(_ payload: [UInt8], _ body: inout ReceiverBody) -> Bool {
    if payload.isEmpty {
      let present = generation.systems.sorted { $0.rawValue < $1.rawValue }
      let channels: UInt8 = generation.number == 7 ? 22 : 32
      var message = BinaryMessage([0, channels, channels, UInt8(present.count)])
      for system in present {
        let isMajor = UBXGeneration.majorSystems.contains(system)
        message.u1(system.rawValue, isMajor ? 8 : 1, isMajor ? 14 : 3, 0)
        message.u4(UInt32(0x0101_0000) | (settings.isOn(UBXKey.system(system)) ? 1 : 0))
      }
      send(message, 0x06, 0x3E, &body)
      return true
    }
    guard payload.count >= 4, payload.count == 4 + 8 * Int(payload[3]) else { return false }
    var values: [UInt32: UInt64] = [:]
    for start in stride(from: 4, to: payload.count, by: 8) {
      let isOn = payload[start + 4] & 1 != 0
      guard let system = SatelliteSystem(rawValue: payload[start]), generation.systems.contains(system) else {
        if isOn { return false }
        continue
      }
      values[UBXKey.system(system)] = isOn ? 1 : 0
    }
    guard canListen(with: values) else { return false }
    settings.ram.values.merge(values) { $1 }
    apply(&body)
    return true
  }

  /// Whether the systems are possible: at least one of the four major systems, and no more systems than the radio
  /// supports.
  func canListen(with values: [UInt32: UInt64]) -> Bool {
    let major = UBXGeneration.majorSystems.filter { system in
      let key = UBXKey.system(system)
      return generation.systems.contains(system) && (values[key] ?? settings.value(key)) != 0
    }
    return !major.isEmpty && major.count <= generation.mostMajorSystems
  }

  private mutating func takePulse(_ payload: [UInt8], _ body: inout ReceiverBody) -> Bool {
    let index = payload.first ?? 0
    guard index < 2 else { return false }
    if payload.count <= 1 {
      guard let record = settings.ram.records[UBXRecord.timePulse(index)] else { return false }
      send(BinaryMessage(record), 0x06, 0x31, &body)
      return true
    }
    guard payload.count == 32 else { return false }
    settings.ram.records[UBXRecord.timePulse(index)] = payload
    return true
  }

  /// Stores a message that is kept as a whole, after updating the fields that also have keys.
  private mutating func takeRecord(_ record: UInt32, _ payload: [UInt8], _ body: inout ReceiverBody) -> Bool {
    guard var kept = settings.ram.records[record] else { return false }
    if payload.isEmpty {
      if record == UBXRecord.nav5 {
        kept[2] = UInt8(settings.value(UBXKey.dynamicModel))
        kept[3] = UInt8(settings.value(UBXKey.fixMode))
      }
      if record == UBXRecord.navX5 {
        kept[17] = UInt8(settings.value(UBXKey.acknowledgesAiding))
        kept[27] = UInt8(settings.value(UBXKey.usesAutonomous))
      }
      send(BinaryMessage(kept), 0x06, UInt8(record & 0xFF), &body)
      return true
    }
    guard payload.count == kept.count else { return false }
    switch record {
    case UBXRecord.nav5:
      guard takeNavigation(payload, &kept) else { return false }
    case UBXRecord.navX5:
      let mask = BinaryMessage.u2(payload, 2)
      if mask & 1 << 10 != 0 { settings.ram.values[UBXKey.acknowledgesAiding] = UInt64(payload[17] & 1) }
      if mask & 1 << 14 != 0 { settings.ram.values[UBXKey.usesAutonomous] = UInt64(payload[27] & 1) }
    case UBXRecord.receiverManager:
      guard [0, 1, 4].contains(payload[1]) else { return false }
      kept = payload
    default: kept = payload
    }
    settings.ram.records[record] = kept
    apply(&body)
    return true
  }

  /// Handles CFG-NAV5: sets the fields that its mask selects. The dynamic model, the fix mode and the minimum elevation
  /// have a bit each. Any other bit sets all other fields.
  private mutating func takeNavigation(_ payload: [UInt8], _ kept: inout [UInt8]) -> Bool {
    let mask = BinaryMessage.u2(payload, 0)
    if mask & 1 != 0 {
      guard UBXProtocol.dynamicModels(of: generation).contains(payload[2]) else { return false }
      settings.ram.values[UBXKey.dynamicModel] = UInt64(payload[2])
    }
    if mask & 4 != 0 {
      guard (1...3).contains(payload[3]) else { return false }
      settings.ram.values[UBXKey.fixMode] = UInt64(payload[3])
    }
    if mask & 2 != 0 { kept[12] = payload[12] }
    for place in 4...35 where place != 12 && mask & ~7 != 0 { kept[place] = payload[place] }
    return true
  }

  static func dynamicModels(of generation: UBXGeneration) -> Set<UInt8> {
    Set([0, 2, 3, 4, 5, 6, 7, 8]).union(generation.protocolVersion >= 18 ? [9] : [])
  }

  /// Handles CFG-CFG: clears, saves and loads, in this order.
  private mutating func takeStorage(_ payload: [UInt8], _ body: inout ReceiverBody) -> Bool {
    guard payload.count == 12 || payload.count == 13 else { return false }
    var memories: Set<UBXSettings.Memory> = [.backup, .flash]
    if payload.count == 13 {
      memories = []
      if payload[12] & 1 != 0 { memories.insert(.backup) }
      if payload[12] & 0b10010 != 0 { memories.insert(.flash) }
    }
    settings.clear(BinaryMessage.u4(payload, 0), in: memories)
    settings.save(BinaryMessage.u4(payload, 4), in: memories)
    let loaded = BinaryMessage.u4(payload, 8)
    if loaded != 0 {
      settings.load(loaded)
      apply(&body)
    }
    return true
  }
}
