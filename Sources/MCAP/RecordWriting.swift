/// Numbers, texts and records as the format has them (specification, "Serialization").
extension [UInt8] {
  mutating func append(littleEndian value: some FixedWidthInteger & BitwiseCopyable) {
    Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
  }

  mutating func store(littleEndian value: some FixedWidthInteger & BitwiseCopyable, at index: Int) {
    withUnsafeMutableBytes { $0.storeBytes(of: value.littleEndian, toByteOffset: index, as: type(of: value)) }
  }

  /// A text behind its length. The writer refuses longer ones than the length can tell.
  mutating func append(prefixed text: String) {
    append(littleEndian: UInt32(truncatingIfNeeded: text.utf8.count))
    append(contentsOf: text.utf8)
  }

  /// Pairs behind their length, by key: what is equal is written alike.
  mutating func append(prefixed map: [String: String]) {
    let start = count
    append(littleEndian: UInt32(0))
    for (key, value) in map.sorted(by: { $0.key < $1.key }) {
      append(prefixed: key)
      append(prefixed: value)
    }
    store(littleEndian: UInt32(truncatingIfNeeded: count - start - 4), at: start)
  }

  /// Begins a record; `endRecord` gives it its length.
  mutating func beginRecord(_ opcode: UInt8) -> Int {
    append(opcode)
    append(littleEndian: UInt64(0))
    return count
  }

  /// - Parameter start: what `beginRecord` returned
  mutating func endRecord(_ start: Int) { store(littleEndian: UInt64(count - start), at: start - 8) }
}
