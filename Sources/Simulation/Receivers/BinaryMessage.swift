/// Builds a payload field by field, and the frame around it. It shares no code with the hub's parsers, so that each
/// side checks the other.
struct BinaryMessage: Sendable {
  private(set) var payload: [UInt8]

  init(_ payload: [UInt8] = []) { self.payload = payload }

  mutating func u1(_ value: UInt8...) { payload += value }
  mutating func i1(_ value: Int8) { payload.append(UInt8(bitPattern: value)) }
  mutating func u2(_ value: UInt16) { integer(value) }
  mutating func i2(_ value: Int16) { integer(value) }
  mutating func u4(_ value: UInt32) { integer(value) }
  mutating func i4(_ value: Int32) { integer(value) }
  mutating func r4(_ value: Double) { integer(Float(value).bitPattern) }
  mutating func r8(_ value: Double) { integer(value.bitPattern) }
  mutating func zeros(_ count: Int) { payload += [UInt8](repeating: 0, count: count) }

  /// Appends a value, rounded to the nearest integer and limited to the range of the field.
  mutating func i4(_ value: Double) { i4(Int32(max(-2_147_483_648, min(2_147_483_647, value.rounded())))) }
  mutating func u4(_ value: Double) { u4(UInt32(max(0, min(4_294_967_295, value.rounded())))) }

  /// Appends text in a field of `count` bytes, padded with zeros.
  mutating func text(_ text: String, _ count: Int) {
    let bytes = Array(text.utf8.prefix(count))
    payload += bytes
    zeros(count - bytes.count)
  }

  private mutating func integer(_ value: some FixedWidthInteger) {
    withUnsafeBytes(of: value.littleEndian) { payload += $0 }
  }

  /// A UBX frame: `B5 62`, class, identifier, length, payload, and the two sums of a Fletcher checksum.
  func ubx(_ group: UInt8, _ id: UInt8) -> [UInt8] {
    var frame: [UInt8] = [0xB5, 0x62, group, id, UInt8(payload.count & 0xFF), UInt8(payload.count >> 8)] + payload
    var a: UInt8 = 0
    var b: UInt8 = 0
    for byte in frame.dropFirst(2) {
      a &+= byte
      b &+= a
    }
    frame += [a, b]
    return frame
  }

  /// A CASIC frame: `BA CE`, length, class, identifier, payload, and the sum of its words. The payload must be a
  /// multiple of four bytes.
  func casic(_ group: UInt8, _ id: UInt8) -> [UInt8] {
    var sum = UInt32(id) << 24 &+ UInt32(group) << 16 &+ UInt32(payload.count)
    for start in stride(from: 0, to: payload.count - payload.count % 4, by: 4) {
      sum &+= BinaryMessage.u4(payload, start)
    }
    var frame = BinaryMessage(
      [0xBA, 0xCE, UInt8(payload.count & 0xFF), UInt8(payload.count >> 8), group, id] + payload)
    frame.u4(sum)
    return frame.payload
  }

  static func u2(_ bytes: [UInt8], _ at: Int) -> UInt16 { UInt16(bytes[at]) | UInt16(bytes[at + 1]) << 8 }
  static func u4(_ bytes: [UInt8], _ at: Int) -> UInt32 { UInt32(u2(bytes, at)) | UInt32(u2(bytes, at + 2)) << 16 }
}
