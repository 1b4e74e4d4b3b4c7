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
