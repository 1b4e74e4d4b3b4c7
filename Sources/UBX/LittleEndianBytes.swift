/// The payload of a message, whose numbers are little-endian and unaligned.
public struct LittleEndianBytes {
  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = UnsafeRawBufferPointer(bytes) }

  public var count: Int { bytes.count }

  // Bytes after the end of a payload read as zero. The reader of a message checks the length first.

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
