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
