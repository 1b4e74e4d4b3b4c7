extension UnsafeRawBufferPointer {
  /// A number with its low byte first.
  func littleEndian(at offset: Int) -> Int16 {
    Int16(bitPattern: UInt16(self[offset + 1]) << 8 | UInt16(self[offset]))
  }

  /// A number with its high byte first.
  func bigEndian(at offset: Int) -> Int16 {
    Int16(bitPattern: UInt16(self[offset]) << 8 | UInt16(self[offset + 1]))
  }
}

extension Int16 {
  /// Whether the number is the lowest or highest of the scale, which stands for any value beyond it.
  var isEndOfScale: Bool { self == .min || self == .max }

  /// The number as a measurement; NaN for an end of the scale.
  var measured: Float { isEndOfScale ? .nan : Float(self) }
}

extension SIMD3<Int16> {
  /// Whether no axis is at an end of its scale. A magnetometer may stop at the negative of the upper end, -32767.
  var isWithinScale: Bool { min() > -Int16.max && max() < .max }
}
