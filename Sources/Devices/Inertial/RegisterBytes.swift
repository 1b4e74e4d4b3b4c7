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

extension Int16 {
  /// Either end of the scale, which stands for any value beyond it.
  var isEndOfScale: Bool { self == .min || self == .max }

  /// As a measurement; an end of the scale is none, and no number.
  var measured: Float { isEndOfScale ? .nan : Float(self) }
}

extension SIMD3<Int16> {
  /// Whether no axis stands at an end of its scale.
  var isWithinScale: Bool { !x.isEndOfScale && !y.isEndOfScale && !z.isEndOfScale }
}
