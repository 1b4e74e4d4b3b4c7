extension UnsafeRawBufferPointer {
  /// The number whose low byte comes first.
  func littleEndian(at offset: Int) -> Int16 {
    Int16(bitPattern: UInt16(self[offset + 1]) << 8 | UInt16(self[offset]))
  }

  /// The number whose high byte comes first.
  func bigEndian(at offset: Int) -> Int16 {
    Int16(bitPattern: UInt16(self[offset]) << 8 | UInt16(self[offset + 1]))
  }
}
