import HardwareIO
import MonotonicTime
import TestSupport
import Testing

struct IIOElementTypeTests {
  struct Case: Sendable {
    let text: String
    let bytes: [UInt8]
    let number: Int64

    init(_ text: String, _ bytes: [UInt8], _ number: Int64) {
      self.text = text
      self.bytes = bytes
      self.number = number
    }
  }

  static let cases = [
    Case("be:s16/16>>0", [0xFF, 0xFE], -2),
    Case("le:s16/16>>0", [0xFE, 0xFF], -2),
    Case("be:s16/16>>0", [0x80, 0x00], -32768),
    Case("le:s16/16>>0", [0xFF, 0x7F], 32767),
    Case("le:s16/16", [0x01, 0x02], 513),
    Case("le:u16/16>>0", [0xFE, 0xFF], 65534),
    // The 24 bits are in the upper and in the lower three bytes of four.
    Case("le:s24/32>>8", [0xAA, 0x56, 0x34, 0x92], -7_195_562),
    Case("be:s24/32>>8", [0x12, 0x34, 0x56, 0xFF], 1_193_046),
    Case("be:s24/32>>8", [0x92, 0x34, 0x56, 0xFF], -7_195_562),
    Case("le:s24/32>>0", [0x56, 0x34, 0x92, 0x77], -7_195_562),
    Case("le:u24/32>>0", [0x56, 0x34, 0x92, 0x77], 9_581_654),
    Case("be:u32/32>>0", [0xFF, 0xFF, 0xFF, 0xFE], 4_294_967_294),
    Case("le:u12/16>>4", [0xF5, 0x8A], 2223),
    Case("le:s12/16>>4", [0xF5, 0x8A], -1873),
    // The bits above and below the number are not zero.
    Case("be:u12/16>>2", [0xE0, 0x06], 2049),
    Case("le:s13/16>>0", [0x00, 0xF0], -4096),
    Case("le:s8/8>>0", [0x80], -128),
    Case("le:u8/8>>0", [0x80], 128),
    Case("le:u5/8>>3", [0xFF], 31),
    Case("le:s48/64>>2", [0x03, 0, 0, 0, 0, 0, 0xFE, 0xFF], -140_737_488_355_328),
    Case("be:s64/64>>0", [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFB], -5),
  ]

  @Test(arguments: cases) func `a number is read in its stated type`(_ one: Case) throws {
    let channel = IIOChannel(name: "in_one", index: 0, type: try IIOElementType(one.text))
    let time = IIOChannel(name: "in_timestamp", index: 1, type: try IIOElementType("le:s64/64>>0"))
    let layout = try IIOScanLayout([channel], timestamp: time)
    let padding = [UInt8](repeating: 0x5A, count: 8 - one.bytes.count)
    let bytes = joined(one.bytes, padding, Int64(77).littleEndianBytes)
    let scan = bytes.withUnsafeBytes { layout.decode($0) }
    #expect(scan[0] == one.number)
    #expect(scan.at == MonotonicInstant(nanoseconds: 77))
  }

  @Test(
    arguments: [
      "", "le", "le:", "s16/16>>0", "xe:s16/16>>0", "LE:s16/16>>0", "le:s16", "le:s16/", "le:/16>>0", "le:s/16>>0",
      "le:16/16>>0", "le:S16/16>>0", "le:s16/16>>", "le:s16/16>0", "le:s16/16<<0", "le:s16/16>>0x", "le:s16/16>>-1",
      "le:s-16/16>>0", "le:s+16/16>>0", " le:s16/16>>0", "le:s16/16>>0 ", "le:s16 /16>>0", "le:s16/16>>000",
      // The types have no bits, more bits than there is room for, or storage of an unsupported size.
      "le:s0/16>>0", "le:s17/16>>0", "le:s16/16>>1", "le:s12/16>>5", "le:s24/24>>0", "le:s8/12>>0", "le:s16/0>>0",
      "be:s99/64>>0", "le:s16/128>>0",
      // The types are repeated or floating point.
      "le:u12/16X2>>4", "le:s16/16X4>>0", "le:s16/16X1>>0", "le:f32/32>>0",
    ])
  func `an invalid or unreadable type is refused`(_ text: String) {
    #expect(throws: HardwareError.unsupported("a scan with an element of the type '\(text)' cannot be read")) {
      try IIOElementType(text)
    }
  }
}
