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
