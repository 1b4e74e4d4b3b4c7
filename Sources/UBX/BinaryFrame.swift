/// A complete message of a receiver's binary protocol, with a verified checksum.
///
/// The frame points into a buffer of the framer or of the framer's caller, and is valid only during the call that
/// passes it.
public struct BinaryFrame {
  public enum Format: UInt8, Sendable {
    /// u-blox: `B5 62`, class, identifier, length, payload, Fletcher's checksum in 8 bits.
    case ubx
    /// CASIC: `BA CE`, length, class, identifier, payload, the sum of its words.
    case casic
    /// Corrections: `D3`, length in 10 bits, payload, CRC-24Q.
    case rtcm3
  }

  public let format: Format
  /// The class in the upper byte and the identifier in the lower one; for RTCM 3 the message's number.
  public let kind: UInt16
  public let payload: LittleEndianBytes
  /// The bytes as received, from the first sync character to the checksum.
  public let bytes: UnsafeBufferPointer<UInt8>
  /// When the frame's first byte was read, in nanoseconds of the caller's clock.
  public let beganAt: Int64

  init(
    _ format: Format, kind: UInt16, payload: Range<Int>, of bytes: UnsafeBufferPointer<UInt8>, beganAt: Int64
  ) {
    self.format = format
    self.kind = kind
    self.payload = LittleEndianBytes(UnsafeBufferPointer(rebasing: bytes[payload]))
    self.bytes = bytes
    self.beganAt = beganAt
  }
}

/// The payload of a message, whose numbers are little-endian and unaligned.
public struct LittleEndianBytes {
  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = UnsafeRawBufferPointer(bytes) }

  public var count: Int { bytes.count }

  // Reads after the end of a payload return zero. The code that reads a message checks the length first.

  @inline(__always)
  func uint8(_ offset: Int) -> UInt8 { offset < bytes.count ? bytes[offset] : 0 }

  @inline(__always)
  func int8(_ offset: Int) -> Int8 { Int8(bitPattern: uint8(offset)) }

  @inline(__always)
  func uint16(_ offset: Int) -> UInt16 { load(offset, UInt16.self) }

  @inline(__always)
  func int16(_ offset: Int) -> Int16 { load(offset, Int16.self) }

  @inline(__always)
  func uint32(_ offset: Int) -> UInt32 { load(offset, UInt32.self) }

  @inline(__always)
  func int32(_ offset: Int) -> Int32 { load(offset, Int32.self) }

  @inline(__always)
  func float(_ offset: Int) -> Float { Float(bitPattern: uint32(offset)) }

  @inline(__always)
  func double(_ offset: Int) -> Double { Double(bitPattern: load(offset, UInt64.self)) }

  @inline(__always)
  private func load<Value: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _ type: Value.Type) -> Value {
    guard offset + MemoryLayout<Value>.size <= bytes.count else { return 0 }
    return Value(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: type))
  }
}
