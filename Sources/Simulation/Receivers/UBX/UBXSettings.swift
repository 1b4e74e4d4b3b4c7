/// The settings of a u-blox receiver, in its different memories.
struct UBXSettings: Sendable {
  /// The settings in one memory. RAM has all of them; the other memories have only the settings that were saved.
  struct Layer: Sendable {
    var values: [UInt32: UInt64] = [:]
    /// The contents of older messages that have no key, by class and identifier (and index).
    var records: [UInt32: [UInt8]] = [:]

    mutating func put(_ other: Layer) {
      values.merge(other.values) { $1 }
      records.merge(other.records) { $1 }
    }
  }

  enum Memory: Sendable {
    case backup
    case flash
  }

  let factory: Layer
  var ram: Layer
  var backup = Layer()
  var flash = Layer()
  let hasFlash: Bool

  init(_ generation: UBXGeneration, _ character: ReceiverCharacter) {
    factory = Layer(
      values: UBXKey.factory(generation, speed: character.speed), records: UBXRecord.factory(generation))
    ram = factory
    hasFlash = character.hasFlash
  }

  func value(_ key: UInt32) -> UInt64 { ram.values[key] ?? 0 }
  func isOn(_ key: UInt32) -> Bool { value(key) != 0 }

  /// Loads the settings at a start: the factory settings, then the settings in flash, then the settings in backup RAM.
  mutating func start() {
    ram = factory
    ram.put(flash)
    ram.put(backup)
  }

  /// The settings that a CFG-CFG mask selects.
  private func chosen(_ layer: Layer, _ mask: UInt32) -> Layer {
    Layer(
      values: layer.values.filter { UBXKey.part($0.key) & mask != 0 },
      records: layer.records.filter { UBXRecord.part($0.key) & mask != 0 })
  }

  mutating func save(_ mask: UInt32, in memories: Set<Memory>) {
    let saved = chosen(ram, mask)
    if memories.contains(.backup) { backup.put(saved) }
    if memories.contains(.flash), hasFlash { flash.put(saved) }
  }

  mutating func clear(_ mask: UInt32, in memories: Set<Memory>) {
    if memories.contains(.backup) { backup = chosen(backup, ~mask) }
    if memories.contains(.flash) { flash = chosen(flash, ~mask) }
  }

  mutating func load(_ mask: UInt32) {
    ram.put(chosen(factory, mask))
    ram.put(chosen(flash, mask))
    ram.put(chosen(backup, mask))
  }
}

/// Keys of the configuration (interface descriptions of NEO-M9N, UBX-19035940, and of M10 SPG 5.10, UBX-21035062).
///
/// Receivers without CFG-VALSET have the same settings, and are configured by other messages.
enum UBXKey {
  static let baudRate: UInt32 = 0x4052_0001
  static let inputUBX: UInt32 = 0x1073_0001
  static let inputNMEA: UInt32 = 0x1073_0002
  static let inputRTCM3: UInt32 = 0x1073_0004
  static let outputUBX: UInt32 = 0x1074_0001
  static let outputNMEA: UInt32 = 0x1074_0002
  static let measurementRate: UInt32 = 0x3021_0001
  static let navigationRate: UInt32 = 0x3021_0002
  static let timeReference: UInt32 = 0x2021_0003
  static let dynamicModel: UInt32 = 0x2011_0021
  static let fixMode: UInt32 = 0x2011_0011
  static let acknowledgesAiding: UInt32 = 0x1011_0025
  static let operatingMode: UInt32 = 0x20D0_0001
  static let usesAutonomous: UInt32 = 0x1023_0001
  static let beidouB1: UInt32 = 0x1031_000D
  static let beidouB1C: UInt32 = 0x1031_000F

  /// The key that enables a system.
  static func system(_ system: SatelliteSystem) -> UInt32 {
    switch system {
    case .gps: 0x1031_001F
    case .sbas: 0x1031_0020
    case .galileo: 0x1031_0021
    case .beidou: 0x1031_0022
    case .qzss: 0x1031_0024
    case .glonass: 0x1031_0025
    }
  }

  /// The key under which the simulation keeps a setting. It keeps the settings of the connected port as those of UART
  /// 1.
  static func kept(_ key: UInt32, isOnI2C: Bool) -> UInt32 {
    guard isOnI2C, key & 0xFFFF != 0xFFFF else { return key }
    switch key >> 16 {
    case 0x2091: return key + 1
    case 0x1071, 0x1072: return key + 0x2_0000
    // A host on I2C cannot observe the UART, so its settings are not kept.
    case 0x1073, 0x1074: return 0
    default: return key
    }
  }

  /// The key in messages to the host for a setting that is kept under this key.
  static func sent(_ key: UInt32, isOnI2C: Bool) -> UInt32 {
    guard isOnI2C else { return key }
    switch key >> 16 {
    case 0x2091: return key - 1
    case 0x1073, 0x1074: return key - 0x2_0000
    default: return key
    }
  }

  /// The size of the value in bytes, from the top digit of the key.
  static func size(_ key: UInt32) -> Int? {
    switch key >> 28 & 7 {
    case 1, 2: 1
    case 3: 2
    case 4: 4
    case 5: 8
    default: nil
    }
  }

  static func group(_ key: UInt32) -> UInt32 { key >> 16 & 0xFFF }

  /// The bit of a CFG-CFG mask that selects a key: 0 the port, 1 the messages, 3 navigation, 4 the receiver manager.
  static func part(_ key: UInt32) -> UInt32 {
    switch key >> 16 & 0xFF {
    case 0x52, 0x73, 0x74: 1 << 0
    case 0x91: 1 << 1
    case 0xD0, 0x31: 1 << 4
    default: 1 << 3
    }
  }

  static func factory(_ generation: UBXGeneration, speed: Int) -> [UInt32: UInt64] {
    var values: [UInt32: UInt64] = [
      baudRate: UInt64(speed), 0x2052_0002: 1, 0x2052_0003: 0, 0x2052_0004: 0, 0x1052_0005: 1,
      inputUBX: 1, inputNMEA: 1, inputRTCM3: generation.number >= 8 ? 1 : 0, outputUBX: 1, outputNMEA: 1,
      measurementRate: 1000, navigationRate: 1, timeReference: generation.number >= 7 ? 1 : 0,
      fixMode: 3, dynamicModel: 0, 0x1011_0013: 0, 0x2011_001C: 0, acknowledgesAiding: 0, 0x1011_0019: 0,
      0x2011_00A1: 3, 0x2011_00A2: 32, 0x2011_00A3: 6, 0x2011_00A4: 5, 0x3011_00B1: 250, 0x3011_00B2: 250,
      0x3011_00B3: 100, 0x3011_00B4: 350,
      operatingMode: 0, 0x40D0_0002: 10, 0x40D0_0003: 10, 0x40D0_0004: 0, 0x30D0_0005: 0, 0x20D0_0006: 0,
      0x20D0_0007: 0, 0x10D0_0008: 0, 0x10D0_0009: 1, 0x10D0_000A: 1, 0x20D0_000B: 0, 0x10D0_000C: 0, 0x10D0_000D: 0,
      0x10D0_000E: 0, 0x40D0_000F: 0, 0x10D0_0010: 0,
      usesAutonomous: 0, 0x3023_0002: 100,
      0x2041_0001: 3, 0x2041_0002: 15, 0x1041_000D: 0, 0x2041_0010: 0, 0x1041_0013: 0,
      0x2005_0023: 0, 0x2005_0030: 1, 0x4005_0002: 1_000_000, 0x4005_0003: 1_000_000, 0x4005_0004: 0,
      0x4005_0005: 100_000, 0x4005_0024: 1, 0x4005_0025: 1, 0x4005_0006: 0, 0x1005_0007: 1, 0x1005_0008: 1,
      0x1005_0009: 1, 0x1005_000A: 1, 0x1005_000B: 1, 0x2005_000C: 0, 0x3005_0001: 50,
      0x2093_0001: 42, 0x2093_0002: 0, 0x1093_0003: 0, 0x1093_0004: 1, 0x1093_0005: 0, 0x1093_0006: 0, 0x2093_0007: 0,
      0x2093_0031: 0, 0x2093_0032: 0,
      0x1036_0002: 0, 0x1036_0003: 1, 0x1036_0004: 1, 0x1036_0005: 0,
      // The L1 signals of each system.
      0x1031_0001: 1, 0x1031_0005: 1, 0x1031_0007: 1, beidouB1: 1, 0x1031_0012: 1, 0x1031_0014: 1, 0x1031_0018: 1,
    ]
    if generation.number >= 10 { values[beidouB1C] = 0 }
    for one in generation.systems { values[system(one)] = generation.enabledSystems.contains(one) ? 1 : 0 }
    for output in UBXOutput.all where output.exists(in: generation) { values[output.key] = output.isFactoryOn ? 1 : 0 }
    return values
  }
}

/// Older configuration messages that a receiver stores as a whole.
enum UBXRecord {
  static let nav5: UInt32 = 0x0624
  static let navX5: UInt32 = 0x0623
  static let powerManagement: UInt32 = 0x063B
  static let receiverManager: UInt32 = 0x0611
  static let powerModeSetup: UInt32 = 0x0686

  /// CFG-TP5 for one of the two pulses.
  static func timePulse(_ index: UInt8) -> UInt32 { 0x0631 | UInt32(index) << 16 }

  /// The bit of a CFG-CFG mask that selects a record: 3 navigation, 4 the receiver manager.
  static func part(_ record: UInt32) -> UInt32 {
    switch record {
    case powerManagement, receiverManager, powerModeSetup: 1 << 4
    default: 1 << 3
    }
  }

  static func factory(_ generation: UBXGeneration) -> [UInt32: [UInt8]] {
    guard generation.hasLegacyConfiguration else { return [:] }
    var records = [nav5: nav5Factory, navX5: navX5Factory(generation), timePulse(0): pulse(0), timePulse(1): pulse(1)]
    guard generation.number < 9 else { return records }
    records[receiverManager] = [8, 0]
    records[powerManagement] = powerManagementFactory(generation)
    if generation.protocolVersion >= 18 { records[powerModeSetup] = [0, 0, 0, 0, 0, 0, 0, 0] }
    return records
  }

  private static let nav5Factory: [UInt8] = {
    var message = BinaryMessage([0xFF, 0xFF, 0, 3])
    message.i4(Int32(0))
    message.u4(UInt32(10_000))
    message.u1(5, 0)
    message.u2(250)
    message.u2(250)
    message.u2(100)
    message.u2(350)
    message.u1(0, 60, 0, 0)
    message.zeros(2)
    message.u2(0)
    message.zeros(6)
    return message.payload
  }()

  private static func navX5Factory(_ generation: UBXGeneration) -> [UInt8] {
    var message = BinaryMessage([generation.protocolVersion >= 18 ? 2 : 0, 0, 0xFF, 0xFF])
    message.zeros(6)
    message.u1(3, 32, 6, 0, 0)
    message.zeros(2)
    // Aiding messages are not acknowledged.
    message.u1(0)
    message.zeros(40 - message.payload.count)
    return message.payload
  }

  private static func powerManagementFactory(_ generation: UBXGeneration) -> [UInt8] {
    let isLong = generation.protocolVersion >= 18
    var message = BinaryMessage([isLong ? 2 : 1, 6, 0, 0])
    message.u4(UInt32(0x0002_9000))
    message.u4(UInt32(1000))
    message.u4(UInt32(10_000))
    message.u4(UInt32(0))
    message.u2(0)
    message.u2(0)
    message.zeros(20)
    if isLong { message.zeros(4) }
    return message.payload
  }

  private static func pulse(_ index: UInt8) -> [UInt8] {
    var message = BinaryMessage([index, 0, 0, 0])
    message.i2(50)
    message.i2(0)
    message.u4(UInt32(1_000_000))
    message.u4(UInt32(1_000_000))
    message.u4(UInt32(0))
    message.u4(UInt32(100_000))
    message.i4(Int32(0))
    message.u4(UInt32(index == 0 ? 0x77 : 0x76))
    return message.payload
  }
}

/// A message that a receiver can be configured to send periodically.
struct UBXOutput: Sendable {
  let group: UInt8
  let id: UInt8
  /// The key of the message's rate on UART1.
  let key: UInt32
  let firstVersion: Int
  let lastVersion: Int
  /// The sentence to send. Other sentences can be enabled but produce no output.
  let sentence: SolutionSentences.Kind?

  private init(
    _ group: UInt8, _ id: UInt8, _ key: UInt32, from firstVersion: Int = 0, to lastVersion: Int = 99,
    _ sentence: SolutionSentences.Kind? = nil
  ) {
    self.group = group
    self.id = id
    self.key = 0x2091_0000 | key
    self.firstVersion = firstVersion
    self.lastVersion = lastVersion
    self.sentence = sentence
  }

  /// The keys of the interface descriptions of M9 and M10 (CFG-MSGOUT); older receivers have the same messages
  /// without keys. The order is the order of transmission.
  static let all: [UBXOutput] = [
    UBXOutput(0xF0, 0x04, 0xAC, .rmc), UBXOutput(0xF0, 0x05, 0xB1, .vtg), UBXOutput(0xF0, 0x00, 0xBB, .gga),
    UBXOutput(0xF0, 0x02, 0xC0, .gsa), UBXOutput(0xF0, 0x03, 0xC5, .gsv), UBXOutput(0xF0, 0x01, 0xCA, .gll),
    UBXOutput(0xF0, 0x07, 0xD4, .gst), UBXOutput(0xF0, 0x08, 0xD9, .zda), UBXOutput(0xF0, 0x06, 0xCF),
    UBXOutput(0xF0, 0x09, 0xDE), UBXOutput(0xF0, 0x0A, 0xA7), UBXOutput(0xF0, 0x0D, 0xB6), UBXOutput(0xF0, 0x0F, 0xE8),
    UBXOutput(0x01, 0x02, 0x2A), UBXOutput(0x01, 0x03, 0x1B), UBXOutput(0x01, 0x04, 0x39),
    UBXOutput(0x01, 0x06, 0x02, to: 23), UBXOutput(0x01, 0x07, 0x07, from: 14), UBXOutput(0x01, 0x12, 0x43),
    UBXOutput(0x01, 0x20, 0x48), UBXOutput(0x01, 0x21, 0x5C), UBXOutput(0x01, 0x30, 0x0C, to: 23),
    UBXOutput(0x01, 0x35, 0x16, from: 15), UBXOutput(0x01, 0x36, 0x84, from: 27),
    UBXOutput(0x01, 0x43, 0x346, from: 27),
    UBXOutput(0x0A, 0x09, 0x1B5, to: 23), UBXOutput(0x0A, 0x38, 0x35A, from: 27), UBXOutput(0x0D, 0x01, 0x17E),
    // This message is sent with each correction message instead of each epoch.
    UBXOutput(0x02, 0x32, 0x269, from: 20, to: 33),
    // The end-of-epoch message is sent last.
    UBXOutput(0x01, 0x61, 0x160, from: 18),
  ]

  /// Whether the factory settings enable the message: GGA, GLL, GSA, GSV, RMC, VTG.
  var isFactoryOn: Bool { group == 0xF0 && id <= 5 }

  func exists(in generation: UBXGeneration) -> Bool {
    (firstVersion...lastVersion).contains(generation.protocolVersion)
  }

  static func find(_ group: UInt8, _ id: UInt8, in generation: UBXGeneration) -> UBXOutput? {
    all.first { $0.group == group && $0.id == id && $0.exists(in: generation) }
  }
}
