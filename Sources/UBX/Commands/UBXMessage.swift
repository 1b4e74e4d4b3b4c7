/// A message to a u-blox receiver. `bytes` is the message on the line.
public struct UBXMessage: Equatable, Sendable {
  /// The class in the upper byte, and the identifier in the lower one.
  public var kind: UInt16
  public var payload: [UInt8]

  public init(_ kind: UInt16, _ payload: [UInt8] = []) {
    self.kind = kind
    self.payload = payload
  }

  /// The message with sync characters, length and checksum.
  public var bytes: [UInt8] {
    var frame: [UInt8] = [0xB5, 0x62, UInt8(kind >> 8), UInt8(kind & 0xFF)]
    frame.append(littleEndian: UInt16(payload.count))
    frame += payload
    let sum = frame.withUnsafeBufferPointer { BinaryChecksum.fletcher($0[2...]) }
    return frame + [sum.0, sum.1]
  }
}

extension UBXMessage: CustomStringConvertible {
  /// A description such as `06 08 (6 bytes)`.
  public var description: String { "\(hex(kind >> 8)) \(hex(kind & 0xFF)) (\(payload.count) bytes)" }

  private func hex(_ byte: UInt16) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) }
}

extension [UInt8] {
  /// Appends a number, its lowest byte first.
  mutating func append<Number: FixedWidthInteger>(littleEndian number: Number) {
    Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
  }

  /// Reads a number inside a message; zero after its end.
  func littleEndian<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: Number.Type) -> Number {
    guard offset >= 0, offset + MemoryLayout<Number>.size <= count else { return 0 }
    return withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: type)) }
  }
}
