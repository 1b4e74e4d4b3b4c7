/// Writes numbers, strings and records in the format's encoding (specification, "Serialization").
extension [UInt8] {
  mutating func append(littleEndian value: some FixedWidthInteger & BitwiseCopyable) {
    Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
  }

  mutating func store(littleEndian value: some FixedWidthInteger & BitwiseCopyable, at index: Int) {
    withUnsafeMutableBytes { $0.storeBytes(of: value.littleEndian, toByteOffset: index, as: type(of: value)) }
  }

  /// Appends a string preceded by its length. The writer has already rejected strings that are too long for the
  /// length field.
  mutating func append(prefixed text: String) {
    append(littleEndian: UInt32(truncatingIfNeeded: text.utf8.count))
    append(contentsOf: text.utf8)
  }

  /// Appends a map preceded by its length. The pairs are sorted by key, so that equal maps have equal bytes.
  mutating func append(prefixed map: [String: String]) {
    let start = count
    append(littleEndian: UInt32(0))
    for (key, value) in map.sorted(by: { $0.key < $1.key }) {
      append(prefixed: key)
      append(prefixed: value)
    }
    store(littleEndian: UInt32(truncatingIfNeeded: count - start - 4), at: start)
  }

  /// Begins a record. `endRecord` fills in its length.
  mutating func beginRecord(_ opcode: UInt8) -> Int {
    append(opcode)
    append(littleEndian: UInt64(0))
    return count
  }

  /// - Parameter start: the value that `beginRecord` returned
  mutating func endRecord(_ start: Int) { store(littleEndian: UInt64(count - start), at: start - 8) }
}
